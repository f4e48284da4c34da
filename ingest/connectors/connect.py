"""From a source to what lists and reads it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ingest.connectors.folder_source import FolderSource
from ingest.connectors.types import Connector
from search.models import Source, SourceVersion


@contextmanager
def connect(source: Source, version: SourceVersion, *, revision: str = "") -> Iterator[Connector]:
    """Open the source for one job; at `revision` where the job began at one. Raises ListingFailed."""
    yield FolderSource(Path(source.config["path"]))
