"""Folders that a measurement ingests."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from ingest.cli.demo.corpus import write_corpus
from ingest.models import Job
from ingest.services.sources import sync_source
from kebab.identity.models import Workspace
from kebab.locations import DOCS
from kebab.people.operator import command_line_access
from kebab.stack.paths import DataDirectory
from search.corpus import ensure_source
from search.models import SourceKind


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Create a folder that the workers can read, and delete it at the end of the block, also on errors."""
    parent = DataDirectory(settings.KEBAB_DATA_DIR).bench
    parent.mkdir(mode=0o700, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        yield Path(folder)


def demo_folder() -> Path:
    """Write the documents of the demonstration, and return their folder."""
    folder = DataDirectory(settings.KEBAB_DATA_DIR).demo
    write_corpus(folder, DOCS.parent)
    return folder


def sync_folder(workspace: Workspace, folder: Path, source: str) -> Job:
    """Return the job that syncs `folder`, without vectors, as the source with this key."""
    found = ensure_source(workspace, source, kind=SourceKind.FOLDER, config={"path": str(folder)})
    return sync_source(command_line_access(workspace), found, embed=False)
