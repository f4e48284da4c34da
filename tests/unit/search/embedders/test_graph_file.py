"""The graph's folder is whole or absent, even after crashes and races."""

import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from search.embedders.bert import graph_file
from search.embedders.bert.embedder import LocalEmbedder
from search.embedders.bert.graph_file import GRAPH, ensure_graph, graph_folder, publish_once
from search.embedders.bert.model import GRAPH_VERSION, LocalModel
from search.retrieval.errors import EmbedderUnavailable
from tests.support.paths import ROOT

_KILLED_WHILE_MAKING = """
import os, signal, sys
from pathlib import Path
from search.embedders.bert.graph_file import publish_once

def make(folder):
    (folder / "made").write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)

publish_once(Path(sys.argv[1]), make)
"""


def _make(content: bytes):
    def make(folder: Path) -> Path:
        made = folder / "made"
        made.mkdir()
        (made / "file").write_bytes(content)
        return made

    return make


def _visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != ".graph.lock")


def test_process_killed_half_way_leaves_nothing_and_the_next_one_makes_it(tmp_path: Path):
    target = tmp_path / "models" / "graph"
    inodes: list[int] = []

    def make(folder: Path) -> Path:
        made = _make(b"whole")(folder)
        inodes.append(made.stat().st_ino)
        return made

    killed = subprocess.run([sys.executable, "-c", _KILLED_WHILE_MAKING, str(target)], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not target.exists()
    assert [publish_once(target, make).stat().st_ino] == inodes  # it is moved into place, not copied
    assert (target / "file").read_bytes() == b"whole"
    assert _visible(target.parent) == ["graph"]


def test_error_half_way_leaves_nothing(tmp_path: Path):
    def fail(folder: Path) -> Path:
        (folder / "made").write_bytes(b"half")
        raise EmbedderUnavailable("no")

    with pytest.raises(EmbedderUnavailable):
        publish_once(tmp_path / "graph", fail)
    assert _visible(tmp_path) == []


def test_one_of_several_concurrent_writers_writes(tmp_path: Path):
    target = tmp_path / "graph"
    contents = [bytes([number]) * 1000 for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda content: publish_once(target, _make(content)), contents))
    assert (target / "file").read_bytes() in contents
    assert _visible(tmp_path) == ["graph"]


def test_existing_graph_is_kept_and_named_by_its_space(model: LocalModel, models_dir: Path, tmp_path: Path):
    before = graph_folder(model, models_dir).stat()
    assert ensure_graph(model, models_dir) == graph_folder(model, models_dir)
    assert graph_folder(model, models_dir).stat().st_mtime_ns == before.st_mtime_ns
    assert model.space.revision == f"{model.weights.sha256[:12]}-int8.{GRAPH_VERSION}"
    assert graph_folder(model, tmp_path).name == f"{model.name}-{model.space.revision}"


@pytest.mark.slow
def test_graph_is_made_by_a_process_of_its_own_and_gives_the_same_vectors(
    tmp_path: Path, model: LocalModel, embedder: LocalEmbedder
):
    made = LocalEmbedder(model, tmp_path / "new", threads=1)
    np.testing.assert_array_equal(made.embed_query("lease"), embedder.embed_query("lease"))


def test_failure_of_that_process_is_reported(tmp_path: Path, model: LocalModel):
    (tmp_path / "models").write_text("not a folder")
    with pytest.raises(EmbedderUnavailable, match=r"could not be made: .*models"):
        ensure_graph(model, tmp_path / "models")


@pytest.mark.parametrize("content", [None, b"", b"not a graph" * 50])
def test_damaged_file_of_the_graph_is_refused_with_the_remedy(
    model: LocalModel, models_dir: Path, tmp_path: Path, content: bytes | None
):
    for file in graph_folder(model, models_dir).iterdir():
        folder = graph_folder(model, tmp_path / file.name)
        shutil.copytree(graph_folder(model, models_dir), folder, copy_function=os.link)
        (folder / file.name).unlink()
        if content is not None:
            (folder / file.name).write_bytes(content)
        with pytest.raises(EmbedderUnavailable, match=f"{folder}.*delete it"):
            LocalEmbedder(model, tmp_path / file.name, threads=1).embed_query("text")


def test_weights_ordered_for_another_processor_are_not_used(
    model: LocalModel, models_dir: Path, tmp_path: Path, embedder: LocalEmbedder
):
    folder = graph_folder(model, tmp_path)
    shutil.copytree(graph_folder(model, models_dir), folder, copy_function=os.link)
    graph = onnx.load(folder / GRAPH, load_external_data=False)
    ordered = [
        entry
        for weights in graph.graph.initializer
        for entry in weights.external_data
        if entry.key.startswith("prepacked")
    ]
    assert len(ordered) == 4 * model.layers
    for entry in ordered:  # a checksum of the ordered weights, and where they are
        entry.value = entry.value.replace("+", "+1")
    (folder / GRAPH).unlink()
    onnx.save(graph, folder / GRAPH)
    np.testing.assert_array_equal(
        LocalEmbedder(model, tmp_path, threads=1).embed_query("lease"), embedder.embed_query("lease")
    )


@pytest.mark.slow
def test_graph_far_from_its_reference_is_refused(tmp_path: Path, model: LocalModel):
    shifted = tuple(tuple(number + 0.001 for number in row) for row in model.reference.components)
    other = replace(model, reference=replace(model.reference, components=shifted))
    with pytest.raises(EmbedderUnavailable, match="reference vectors"):
        graph_file.write_graph(other, tmp_path)
    assert _visible(tmp_path) == []
