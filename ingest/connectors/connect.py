"""Connectors of sources, by kind."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from ingest.connectors.errors import ListingFailed
from ingest.connectors.folder_source import FolderSource
from ingest.connectors.git.source import open_repository
from ingest.connectors.records.kinds import RECORD_KINDS, open_reader
from ingest.connectors.records.source import RecordSource
from ingest.connectors.records.stored_cursor import StoredCursor, reader_names
from ingest.connectors.types import Connector
from ingest.connectors.walk_rules import WalkRules
from ingest.connectors.web.source import open_site
from ingest.exports.source import ExportSource
from search.models import Source, SourceKind, SourceVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenOptions:
    """The source to open, and options of one job."""

    source: Source
    version: SourceVersion
    #: the revision at which the job started; "" for a new job
    revision: str = ""
    #: called a few times a second during a wait; ends the wait by raising
    while_waiting: Callable[[], None] = lambda: None
    #: called with each path before it is requested, by a listing that can be resumed there; ends the listing
    #: by raising
    on_position: Callable[[str], None] = lambda path: None
    #: id of the job, by which a resumed job finds what it has read before
    job_id: uuid.UUID = field(default_factory=uuid.uuid4)
    #: whether the job reads single files, for which a connector with a cursor lists everything
    is_partial: bool = False


@contextmanager
def connect(options: OpenOptions) -> Iterator[Connector | RecordSource]:
    """Open the source for one job. Raises ListingFailed, and the errors of `while_waiting`."""
    with _CONNECTORS[options.source.kind](options) as connector:
        yield connector


def _open_folder(options: OpenOptions) -> AbstractContextManager[Connector]:
    folder = Path(options.source.config["path"])
    # The path was resolved when the source was created. A later link could lead out of the allowed folders.
    if folder.resolve() != folder:
        raise ListingFailed(
            f"{folder}, or a folder above it, is a link to elsewhere now; make a source for where it leads."
        )
    rules = WalkRules.from_settings()
    files = FolderSource(folder, max(rules.max_code_bytes, rules.max_document_bytes))
    return nullcontext(ExportSource(files))


def _open_git(options: OpenOptions) -> AbstractContextManager[Connector]:
    return open_repository(
        options.source,
        options.version,
        revision=options.revision,
        while_waiting=options.while_waiting,
    )


def _open_web(options: OpenOptions) -> AbstractContextManager[Connector]:
    return open_site(
        options.source,
        options.job_id,
        while_waiting=options.while_waiting,
        on_position=options.on_position,
    )


@contextmanager
def _open_records(options: OpenOptions) -> Iterator[RecordSource]:
    source, version = options.source, options.version
    readers = reader_names(source)
    with closing(open_reader(source, options.while_waiting)) as reader:
        cursor = "" if options.is_partial else StoredCursor.parse(version.cursor).state_for(readers)
        yield RecordSource(source, reader, cursor=cursor, readers=readers)


_CONNECTORS: Mapping[str, Callable[[OpenOptions], AbstractContextManager[Connector | RecordSource]]] = {
    SourceKind.FOLDER: _open_folder,
    SourceKind.GIT: _open_git,
    SourceKind.WEB: _open_web,
    **dict.fromkeys(RECORD_KINDS, _open_records),
}
