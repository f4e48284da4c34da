"""Costs of one more document: to ingest, to find unchanged, to embed, to mirror.

Each is the difference between many and few documents, which excludes the fixed cost of a job.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kebab.identity.models import Workspace
from search.corpus import ensure_source
from search.mirror import local_mirrors
from search.mirror.sync.sync import sync_mirror
from search.models import Source
from tests.drills.regression.corpora import analyse
from tests.drills.regression.mirror_work import MirrorWork, watched_mirrors
from tests.drills.regression.postgres_work import postgres_work
from tests.drills.regression.python_work import python_work
from tests.support.actors import make_workspace
from tests.support.corpus import make_place, write
from tests.support.jobs import drop_embedding_jobs, embed, fill, sync

Figures = dict[str, float]
# A job writes 32 documents per transaction: the many need one more transaction.
FEW, MANY = 8, 40
#: Chunks per batch of the embedding job.
BATCH = 64
_TEXT = (
    "# Report {n}\n\nThe pump of station {n} ran for {n} hours.\n\n## Readings\n\nPressure {n} bar, "
    "then {n} and a half.\n\n## Repairs\n\nThe seal number {n} was replaced.\n"
)


def synced_documents(folder: Path, few: int = FEW, many: int = MANY) -> dict[str, Figures]:
    """Return the costs of a new file of a folder, and of an unchanged one."""

    def sync_twice(n: int) -> tuple[Figures, Figures]:
        source = _source(folder / str(n), n)
        return _sync_costs(source), _sync_costs(source)

    sync_twice(2)  # fills caches, starts parsers
    (new_few, again_few), (new_many, again_many) = sync_twice(few), sync_twice(many)
    return {
        "ingested document": _marginal(new_few, new_many, many - few),
        "unchanged document": _marginal(again_few, again_many, many - few),
    }


def embedded_batch(many: int = 3) -> Figures:
    """Return the costs of embedding a batch of chunks, in a workspace that already has vectors."""

    def embed_batches(n: int) -> Figures:
        workspace = make_workspace()
        _write_batches(workspace, range(2))
        assert embed(workspace).state == "succeeded"
        analyse()
        _write_batches(workspace, range(2, 2 + n))
        with _measure() as found:
            job = embed(workspace)
        assert (job.state, job.chunks_done) == ("succeeded", n * BATCH), job.error
        return found

    return _marginal(embed_batches(1), embed_batches(many), many - 1)


def _write_batches(workspace: Workspace, numbers: range) -> None:
    for number in numbers:
        write(workspace, f"{number}.md", *(f"chunk {number} {part}" for part in range(BATCH)))


def mirrored_document() -> Figures:
    """Return the costs of adding a document of three chunks to an existing mirror."""

    def mirror_documents(n: int) -> Figures:
        workspace = make_workspace()
        _write_and_mirror(workspace, range(1))
        with watched_mirrors() as mirrors:
            return _write_and_mirror(workspace, range(1, 1 + n), mirrors)

    mirror_documents(2)
    return _marginal(mirror_documents(FEW // 2), mirror_documents(FEW * 2), FEW * 2 - FEW // 2)


def _write_and_mirror(workspace: Workspace, numbers: range, mirrors: MirrorWork | None = None) -> Figures:
    for number in numbers:
        write(workspace, f"{number}.md", *(f"pump {number} part {part}" for part in range(3)))
    with _measure(mirrors) as found:
        sync_mirror(local_mirrors.mirror_files(workspace.pk), workspace.pk)
    return found


def _source(folder: Path, files: int) -> Source:
    fill(folder, {f"{number}.md": _TEXT.format(n=number) for number in range(files)})
    workspace = make_workspace()
    make_place(workspace)
    return ensure_source(workspace, "folder", kind="folder", config={"path": str(folder)})


def _sync_costs(source: Source) -> Figures:
    with _measure() as found:
        report = sync(source)
    assert report["seen"] == report["new"] + report["unchanged"], report
    drop_embedding_jobs()
    return found


@contextmanager
def _measure(mirrors: MirrorWork | None = None) -> Iterator[Figures]:
    found: Figures = {}
    if mirrors is not None:
        mirrors.begin()
    with postgres_work() as postgres, python_work() as python:
        yield found
    found.update({**postgres.figures, **python.figures})
    if mirrors is not None:
        found.update(mirrors.figures())


def _marginal(few: Figures, many: Figures, more: int) -> Figures:
    """Return the cost of each further one; for peak memory, the peak itself."""
    each: dict[str, Any] = {name: (many[name] - few.get(name, 0)) / more for name in many}
    return {**each, "bytes at most": many["bytes at most"]}
