"""How long a sync takes when nothing has changed in 10,000 files."""

from pathlib import Path

from rich.console import Console

from ingest.cli.bench.figures import Figure
from ingest.cli.bench.ingestion import ingest_folder, resync_s
from ingest.cli.scratch import scratch_folder, scratch_workspace
from kebab.people.models import Workspace
from search.models import Document

FILES = 10_000
_AT_MOST_S = 3.0
# A sync of fewer files is mostly what every sync costs, however many they are.
_SCALED_FROM = 0.5
_FILES_A_FOLDER = 100


def resync_figure(workspace: Workspace, folder: Path, console: Console, *, files: int = FILES) -> Figure:
    """Sync `folder`, which is there as source `bench`, again; or files made up for this if it has too few."""
    have = Document.objects.in_workspace(workspace).filter(version__source__key="bench").count()
    if have >= files * _SCALED_FROM:
        seconds = resync_s(workspace, folder, "bench")
        note = f"{have:,} files in {seconds:.2f} s"
        return _figure(files, seconds * files / have, note)
    with scratch_folder() as made, scratch_workspace("bench-resync") as scratch:
        write_files(made, files)
        ingest_folder(scratch, made, "bench", console)
        seconds = resync_s(scratch, made, "bench")
    return _figure(files, seconds, "of a few words each: nothing of an unchanged file is read")


def write_files(folder: Path, files: int) -> None:
    """Write so many small files, a hundred to a folder."""
    for number in range(files):
        path = folder / f"{number // _FILES_A_FOLDER:04}" / f"{number:06}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Note {number}\n\nWhat is to be said on subject {number}.\n")


def _figure(files: int, seconds: float, note: str) -> Figure:
    name = f"unchanged re-sync, {files:,} files"
    return Figure(name=name, value=seconds, unit="s", at_most=_AT_MOST_S, note=note)
