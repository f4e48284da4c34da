"""From a source to what lists and reads it."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from ingest.connectors.errors import ListingFailed
from ingest.connectors.folder_source import FolderSource
from ingest.connectors.git.source import open_repository
from ingest.connectors.types import Connector
from ingest.connectors.walk_rules import WalkRules
from ingest.connectors.web.source import open_site
from search.models import Source, SourceKind, SourceVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What a job wants opened."""

    source: Source
    version: SourceVersion
    #: what the job began at; "" when it begins now
    revision: str = ""
    #: is called a few times a second during a wait, and ends it by raising
    while_waiting: Callable[[], None] = lambda: None
    #: is called with each path that is asked for next by a listing that can go on there later, and ends
    #: it by raising
    when_at: Callable[[str], None] = lambda path: None
    #: of the job, so that one that goes on knows what it has read before
    job_id: uuid.UUID = field(default_factory=uuid.uuid4)


@contextmanager
def connect(opening: Opening) -> Iterator[Connector]:
    """Open the source for one job. Raises ListingFailed, and what `while_waiting` raises."""
    with _CONNECTORS[opening.source.kind](opening) as connector:
        yield connector


def _folder(opening: Opening) -> AbstractContextManager[Connector]:
    folder = Path(opening.source.config["path"])
    # It was resolved when the source was made; followed anew it could lead out of what may be read here.
    if folder.resolve() != folder:
        raise ListingFailed(
            f"{folder}, or a folder above it, is a link to elsewhere now; make a source for where it leads."
        )
    rules = WalkRules.from_settings()
    return nullcontext(FolderSource(folder, max(rules.max_code_bytes, rules.max_document_bytes)))


def _git(opening: Opening) -> AbstractContextManager[Connector]:
    return open_repository(
        opening.source,
        opening.version,
        revision=opening.revision,
        while_waiting=opening.while_waiting,
    )


def _web(opening: Opening) -> AbstractContextManager[Connector]:
    return open_site(
        opening.source,
        opening.job_id,
        while_waiting=opening.while_waiting,
        when_at=opening.when_at,
    )


_CONNECTORS: Mapping[str, Callable[[Opening], AbstractContextManager[Connector]]] = {
    SourceKind.FOLDER: _folder,
    SourceKind.GIT: _git,
    SourceKind.WEB: _web,
}
