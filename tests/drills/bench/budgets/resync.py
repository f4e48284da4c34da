"""Duration of a sync of 10,000 unchanged files."""

from pathlib import Path

from rich.console import Console

from ingest.cli.scratch import scratch_workspace
from kebab.identity.models import Workspace
from search.models import Document
from tests.drills.bench.budgets.figures import Figure
from tests.drills.bench.budgets.ingestion import ingest_folder, resync_s
from tests.drills.bench.folders import scratch_folder

FILES = 10_000
_AT_MOST_S = 3.0
# A sync of fewer files than this share costs mostly the constant overhead of any sync.
_SCALED_FROM = 0.5
_FILES_A_FOLDER = 100


def resync_figure(workspace: Workspace, folder: Path, console: Console, *, files: int = FILES) -> Figure:
    """Measure another sync of `folder`, which is source `bench`, or of generated files if it has too few."""
    have = Document.objects.in_workspace(workspace).filter(version__source__key="bench").count()
    if have >= files * _SCALED_FROM:
        seconds = resync_s(workspace, folder, "bench")
        note = f"{have:,} files in {seconds:.2f} s"
        return _figure(files, seconds * files / have, note)
    with scratch_folder() as generated, scratch_workspace("bench-resync") as scratch:
        write_files(generated, files)
        ingest_folder(scratch, generated, "bench", console)
        seconds = resync_s(scratch, generated, "bench")
    return _figure(files, seconds, "of a few words each: nothing of an unchanged file is read")


def write_files(folder: Path, files: int) -> None:
    """Write `files` small files, a hundred per folder."""
    for number in range(files):
        path = folder / f"{number // _FILES_A_FOLDER:04}" / f"{number:06}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Note {number}\n\nWhat is to be said on subject {number}.\n")


def _figure(files: int, seconds: float, note: str) -> Figure:
    name = f"unchanged re-sync, {files:,} files"
    return Figure(name=name, value=seconds, unit="s", at_most=_AT_MOST_S, note=note)
