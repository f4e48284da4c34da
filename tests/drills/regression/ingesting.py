"""Costs of one document more, to ingest, to find unchanged, to embed, to mirror.

Each is the difference between many and few, so that what a job costs once does not hide it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kebab.people.models import Workspace
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
# Documents of one job are written 32 at a time: with the many there is one transaction more.
FEW, MANY = 8, 40
#: Chunks that one batch of the embedding job takes.
BATCH = 64
_TEXT = (
    "# Report {n}\n\nThe pump of station {n} ran for {n} hours.\n\n## Readings\n\nPressure {n} bar, "
    "then {n} and a half.\n\n## Repairs\n\nThe seal number {n} was replaced.\n"
)


def synced_documents(folder: Path, few: int = FEW, many: int = MANY) -> dict[str, Figures]:
    """Return what a new file of a folder costs, and what it costs to find that it says what it said."""

    def synced(n: int) -> tuple[Figures, Figures]:
        source = _source(folder / str(n), n)
        return _synced(source), _synced(source)

    synced(2)  # caches are filled, parsers started
    (new_few, again_few), (new_many, again_many) = synced(few), synced(many)
    return {
        "ingested document": _each_more(new_few, new_many, many - few),
        "unchanged document": _each_more(again_few, again_many, many - few),
    }


def embedded_batch(many: int = 3) -> Figures:
    """Return what a batch of chunks costs to be embedded, in a workspace that has vectors already."""

    def embedded(n: int) -> Figures:
        workspace = make_workspace()
        _write_batches(workspace, range(2))
        assert embed(workspace).state == "succeeded"
        analyse()
        _write_batches(workspace, range(2, 2 + n))
        with _measured() as found:
            job = embed(workspace)
        assert (job.state, job.chunks_done) == ("succeeded", n * BATCH), job.error
        return found

    return _each_more(embedded(1), embedded(many), many - 1)


def _write_batches(workspace: Workspace, numbers: range) -> None:
    for number in numbers:
        write(workspace, f"{number}.md", *(f"chunk {number} {part}" for part in range(BATCH)))


def mirrored_document() -> Figures:
    """Return what a document of three chunks costs to be taken into a mirror that is there already."""

    def mirrored(n: int) -> Figures:
        workspace = make_workspace()
        _write_and_mirror(workspace, range(1))
        with watched_mirrors() as mirrors:
            return _write_and_mirror(workspace, range(1, 1 + n), mirrors)

    mirrored(2)
    return _each_more(mirrored(FEW // 2), mirrored(FEW * 2), FEW * 2 - FEW // 2)


def _write_and_mirror(workspace: Workspace, numbers: range, mirrors: MirrorWork | None = None) -> Figures:
    for number in numbers:
        write(workspace, f"{number}.md", *(f"pump {number} part {part}" for part in range(3)))
    with _measured(mirrors) as found:
        sync_mirror(local_mirrors.mirror_files(workspace.pk), workspace.pk)
    return found


def _source(folder: Path, files: int) -> Source:
    fill(folder, {f"{number}.md": _TEXT.format(n=number) for number in range(files)})
    workspace = make_workspace()
    make_place(workspace)
    return ensure_source(workspace, "folder", kind="folder", config={"path": str(folder)})


def _synced(source: Source) -> Figures:
    with _measured() as found:
        report = sync(source)
    assert report["seen"] == report["new"] + report["unchanged"], report
    drop_embedding_jobs()
    return found


@contextmanager
def _measured(mirrors: MirrorWork | None = None) -> Iterator[Figures]:
    found: Figures = {}
    if mirrors is not None:
        mirrors.begin()
    with postgres_work() as postgres, python_work() as python:
        yield found
    found.update({**postgres.figures, **python.figures})
    if mirrors is not None:
        found.update(mirrors.figures())


def _each_more(few: Figures, many: Figures, more: int) -> Figures:
    """Return what each one more costs; of memory at its height, the height itself."""
    each: dict[str, Any] = {name: (many[name] - few.get(name, 0)) / more for name in many}
    return {**each, "bytes at most": many["bytes at most"]}
