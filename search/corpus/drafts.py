"""Drafts of documents and chunks before they are stored: values from parsers, chunkers or an import."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from kebab.identity.models import Workspace
from search.corpus.content_ids import document_id
from search.documents.omissions import StoredOmissions
from search.models import Document, Source, SourceVersion
from search.retrieval.document_date import stated_author
from search.retrieval.query.metadata import Value, filter_values


class ChunkDraft(Protocol):
    """A chunk before it has an id."""

    @property
    def ordinal(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def language(self) -> str | None: ...
    @property
    def heading_path(self) -> Sequence[str]: ...
    @property
    def breadcrumb(self) -> str: ...
    @property
    def section_label(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def plain(self) -> str: ...
    @property
    def spans(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def token_count(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLocation:
    """The location of a document: a path in a version of a source of a workspace."""

    workspace: Workspace
    source: Source
    version: SourceVersion
    path: str

    @property
    def doc_id(self) -> uuid.UUID:
        """Return the document id, which is derived from the location."""
        return document_id(self.workspace.corpus_id, self.source.key, self.version.tag, self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentDraft:
    """A document's content and metadata to be stored."""

    title: str
    lang: str
    tags: tuple[str, ...]
    trust_level: str
    mime: str
    media: str
    size_bytes: int
    content_hash: str
    parser_version: str
    chunker_version: str
    chunks: Sequence[ChunkDraft]
    source_mtime_ns: int | None = None
    #: The time of a page's last change; that of a file is `source_mtime_ns`.
    modified_at: datetime | None = None
    source_revision: str = ""
    #: None: the source is read in order, so the latest write wins.
    requested_at: datetime | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)
    #: The document whose overrides are merged into these; None: any.
    based_on: Document | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    omissions: StoredOmissions = field(default_factory=dict)

    @property
    def author(self) -> str:
        """Return the author that the metadata states, '' for none."""
        return stated_author(self.metadata)

    @property
    def filter_values(self) -> dict[str, list[Value]]:
        """Return the values of the metadata as filters compare them."""
        return filter_values(self.metadata)
