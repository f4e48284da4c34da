"""The graph's file is whole or absent, even after crashes and races."""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from search.embedders.minilm import graph_file
from search.embedders.minilm.embedder import MiniLmEmbedder
from search.embedders.minilm.graph_file import ensure_graph, graph_path, publish_once
from search.embedders.minilm.session import open_session
from search.retrieval.errors import EmbedderUnavailable
from tests.support.paths import ROOT

_KILLED_WHILE_MAKING = """
import os, signal, sys
from pathlib import Path
from search.embedders.minilm.graph_file import publish_once

def make(folder):
    (folder / "made").write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)

publish_once(Path(sys.argv[1]), make)
"""


def _make(content: bytes):
    def make(folder: Path) -> Path:
        made = folder / "made"
        made.write_bytes(content)
        return made

    return make


def _visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != ".graph.lock")


def test_process_killed_half_way_leaves_no_file_and_the_next_one_makes_it(tmp_path: Path):
    target = tmp_path / "models" / "graph.onnx"
    inodes: list[int] = []

    def make(folder: Path) -> Path:
        made = _make(b"whole")(folder)
        inodes.append(made.stat().st_ino)
        return made

    killed = subprocess.run([sys.executable, "-c", _KILLED_WHILE_MAKING, str(target)], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not target.exists()
    assert [publish_once(target, make).stat().st_ino] == inodes  # it is moved into place, not copied
    assert target.read_bytes() == b"whole"
    assert _visible(target.parent) == ["graph.onnx"]


def test_error_half_way_leaves_nothing(tmp_path: Path):
    def fail(folder: Path) -> Path:
        (folder / "made").write_bytes(b"half")
        raise EmbedderUnavailable("no")

    with pytest.raises(EmbedderUnavailable):
        publish_once(tmp_path / "graph.onnx", fail)
    assert _visible(tmp_path) == []


def test_one_of_several_concurrent_writers_writes(tmp_path: Path):
    target = tmp_path / "graph.onnx"
    contents = [bytes([number]) * 1000 for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda content: publish_once(target, _make(content)), contents))
    assert target.read_bytes() in contents
    assert _visible(tmp_path) == ["graph.onnx"]


def test_existing_graph_is_kept_and_named_by_its_space(models_dir: Path, tmp_path: Path):
    before = graph_path(models_dir).stat()
    assert ensure_graph(models_dir) == graph_path(models_dir)
    assert graph_path(models_dir).stat().st_mtime_ns == before.st_mtime_ns
    revision = f"{graph_file.WEIGHTS.sha256[:12]}-int8.{graph_file.GRAPH_VERSION}"
    assert graph_path(tmp_path).name == f"all-MiniLM-L6-v2-{revision}.onnx"
    assert MiniLmEmbedder.space.revision == revision


@pytest.mark.slow
def test_graph_is_made_by_a_process_of_its_own_and_gives_the_same_vectors(
    tmp_path: Path, embedder: MiniLmEmbedder
):
    made = MiniLmEmbedder(tmp_path / "new", threads=1)
    np.testing.assert_array_equal(made.embed_query("lease"), embedder.embed_query("lease"))


def test_failure_of_that_process_is_reported(tmp_path: Path, models_dir: Path):
    (tmp_path / "models").write_text("not a folder")
    with pytest.raises(EmbedderUnavailable, match=r"could not be made: .*models"):
        ensure_graph(tmp_path / "models")


def test_damaged_graph_is_refused_with_the_remedy(subtests, tmp_path):
    for content in (b"", b"not a graph" * 50):
        with subtests.test(content=content):
            path = tmp_path / "graph.onnx"
            path.write_bytes(content)
            with pytest.raises(EmbedderUnavailable, match="delete it"):
                open_session(path)


@pytest.mark.slow
def test_graph_far_from_its_reference_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, models_dir: Path
):
    shifted = tuple(tuple(number + 0.001 for number in row) for row in graph_file.COMPONENTS)
    monkeypatch.setattr(graph_file, "COMPONENTS", shifted)
    with pytest.raises(EmbedderUnavailable, match="reference vectors"):
        graph_file.write_graph(tmp_path)
    assert _visible(tmp_path) == []
