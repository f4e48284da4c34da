"""Folders that a measurement ingests."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from ingest.cli.demo.corpus import write_corpus
from kebab.locations import DOCS
from kebab.stack.paths import DataDirectory


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
