"""Fields of the rows of a bundle in format 1; docs/bundles.md gives the reasons, model by model.

A field that ends in `_number` refers to a row of another section. Row ids of the workspace are not included:
an import assigns new ones, except to documents and chunks, whose ids are derived from their content.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Final

from django.db import models
from pydantic import Field

from kebab.identity.models import Group, Workspace
from search.bundles.format.layout import MAX_DIM
from search.bundles.format.values import (
    MAX_COUNT,
    ROW_NUMBER,
    Fields,
    HashText,
    Id,
    JsonList,
    JsonObject,
    Number,
    Rows,
    Spans,
    Timestamp,
    integer,
    one_of,
    rows_of,
    text,
    texts,
)
from search.models import (
    Chunk,
    ChunkVector,
    Document,
    EmbeddingSpace,
    Judgement,
    MediaKind,
    Run,
    RunState,
    RunTopic,
    Source,
    SourceKind,
    SourceReader,
    SourceState,
    SourceVersion,
    SpaceState,
    Topic,
    TopicOrigin,
    Trust,
)

_SMALL = 2**31 - 1
# Valid keys of sources; a key can't contain a path separator.
_KEY = Annotated[str, Field(pattern=r"^[^\x00-\x1f/\\\x7f]{1,63}$")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The rows of one model."""

    model: type[models.Model]
    #: Types by the name of the model's field, or of its replacement in the bundle.
    fields: Fields
    #: Reasons by name, for the model's fields that are not carried.
    omitted: Mapping[str, str]


_OWN = "each workspace assigns its own"
_OF_WORKSPACE = "every row belongs to the new workspace"
_EACH: Final = {"id": _OWN, "workspace": _OF_WORKSPACE}
_PERSONS: Final = {"created_by": "names a person", "creator": "names a person"}

SECTIONS_BY_NAME: Final[Mapping[str, Section]] = {
    "workspace": Section(
        model=Workspace,
        fields={
            "slug": text(63),
            "name": text(200),
            "corpus_id": Id,
            "settings": JsonObject,
            "head_seq": integer(most=MAX_COUNT),
        },
        omitted={
            "id": _OWN,
            "created_at": "the time of the import",
            "quota": "set by the operator of each machine",
        },
    ),
    "groups": Section(
        model=Group,
        fields={"name": text(100)},
        omitted={**_EACH, "created_at": "the time of the import"},
    ),
    "sources": Section(
        model=Source,
        fields={
            "id": Id,
            "key": _KEY,
            "kind": one_of(*SourceKind.values),
            "config": JsonObject,
            "title": text(300),
            "description": text(),
            "state": one_of(*SourceState.values),
            "default_tags": texts(100),
            "default_trust": one_of(*Trust.values),
            "trust_score": Number,
            "stars": integer(most=_SMALL) | None,
            "total_snippets": integer(most=_SMALL),
            "rules": JsonList,
            "library_id": text(300),
            "project": JsonObject,
            "last_indexed_at": Timestamp | None,
            "sync_every_minutes": integer(most=_SMALL) | None,
            "last_sync_at": Timestamp | None,
            "sync_failures": integer(most=_SMALL),
            "is_restricted": bool,
            "created_at": Timestamp,
        },
        omitted={
            "workspace": _OF_WORKSPACE,
            "sealed_credentials": "secrets stay on their machine",
            "watch": "an imported source syncs only on request",
            "next_sync_at": "an imported source syncs only on request",
            "compared_at": "the time on another machine",
        },
    ),
    "readers": Section(
        model=SourceReader,
        fields={"source_number": ROW_NUMBER, "group_number": ROW_NUMBER},
        omitted=_EACH,
    ),
    "versions": Section(
        model=SourceVersion,
        fields={
            "source_number": ROW_NUMBER,
            "tag": text(200),
            "commit": text(64),
            "title": text(300),
            "created_at": Timestamp,
        },
        omitted={**_EACH, "cursor": "the next sync begins from the start"},
    ),
    "spaces": Section(
        model=EmbeddingSpace,
        fields={
            "model": text(200),
            "revision": text(100),
            "dim": integer(least=1, most=MAX_DIM),
            "query_prefix": text(200),
            "passage_prefix": text(200),
            "languages": texts(16),
            "state": one_of(*SpaceState.values),
            "epoch": integer(most=MAX_COUNT),
            "known_share": Number | None,
            "switches_by_itself": bool,
            "held_because": text(),
            "live_until": Timestamp | None,
            "retire_at": Timestamp | None,
            "created_at": Timestamp,
        },
        omitted={**_EACH, "is_indexed": "an import builds the index"},
    ),
    "topics": Section(
        model=Topic,
        fields={
            "topic_set": text(64),
            "topic_id": text(100),
            "text": text(),
            "filters": JsonObject,
            "is_unanswerable": bool,
            "origin": one_of(*TopicOrigin.values),
            "created_at": Timestamp,
        },
        omitted={**_EACH, **_PERSONS},
    ),
    "judgements": Section(
        model=Judgement,
        fields={
            "topic_number": ROW_NUMBER,
            "source_number": ROW_NUMBER | None,
            "version": text(200),
            "path": text(1_000),
            "fragment": text(100),
            "grade": integer(least=-(2**15), most=2**15 - 1),
        },
        omitted={**_EACH, "place_key": "follows from the source's new id"},
    ),
    "runs": Section(
        model=Run,
        fields={
            "name": text(100),
            "topic_set": text(64),
            "state": one_of(RunState.SUCCEEDED.value, RunState.FAILED.value, RunState.CANCELLED.value),
            "settings": JsonObject,
            "measures": JsonList,
            "record": JsonObject,
            "figures": JsonObject,
            "sources": texts(63),
            "error": text(),
            "created_at": Timestamp,
            "started_at": Timestamp | None,
            "finished_at": Timestamp | None,
        },
        omitted={**_EACH, **_PERSONS, "job_id": "jobs are not carried"},
    ),
    "run_topics": Section(
        model=RunTopic,
        fields={
            "run_number": ROW_NUMBER,
            "ordinal": integer(most=_SMALL),
            "topic_id": text(100),
            "text": text(),
            "filters": JsonObject,
            "is_unanswerable": bool,
            "judgements": JsonList,
            "ranking": JsonList | None,
            "measures": JsonObject,
            "ms": Number | None,
            "is_empty": bool | None,
            "is_refused": bool | None,
            "degraded": texts(20),
            "index_version": text(500),
        },
        omitted=_EACH,
    ),
    "documents": Section(
        model=Document,
        fields={
            "doc_id": Id,
            "version_number": ROW_NUMBER,
            "path": text(1_000),
            "title": text(500),
            "lang": text(16),
            "tags": texts(100),
            "trust_level": one_of(*Trust.values),
            "mime": text(200),
            "media": one_of(*MediaKind.values),
            "size_bytes": integer(),
            "content_hash": HashText,
            "overrides": JsonObject,
            "parser_version": text(64),
            "chunker_version": text(64),
            "source_mtime_ns": integer(least=-(2**63)) | None,
            "source_revision": text(200),
            "requested_at": Timestamp | None,
            "indexed_at": Timestamp,
            "metadata": JsonObject,
        },
        omitted={
            **_EACH,
            "source": "its version's",
            "title_folded": "generated by the database",
            "author": "as its metadata states",
            "filter_values": "as its metadata states",
            "dated_at": "as its metadata states, else the time of its file or of indexing",
        },
    ),
    "chunks": Section(
        model=Chunk,
        fields={
            "chunk_id": Id,
            "ordinal": integer(least=-(2**31), most=_SMALL),
            "kind": one_of("code", "info"),
            "language": text(40),
            "heading_path": texts(),
            "breadcrumb": text(),
            "section_label": text(),
            "text": text(),
            "source_spans": Spans,
            "token_count": integer(least=-(2**31), most=_SMALL),
            "embed_hash": Id,
            "row_version": integer(least=-(2**31), most=_SMALL),
        },
        omitted={
            "workspace": _OF_WORKSPACE,
            "document": "its row's column",
            "plain": "its text without markup",
        },
    ),
    "vectors": Section(
        model=ChunkVector,
        fields={},
        omitted={
            "workspace": _OF_WORKSPACE,
            "space": "a column",
            "chunk_id": "a column of ids, 16 bytes each",
            "version_id": "its chunk's document's",
            "embed_hash": "its chunk's",
            "embedding": "the row's body: little-endian float16",
            "written": "the time of writing on this machine",
        },
    ),
}


@cache
def section_rows(section: str) -> Rows:
    """Return the type of the rows of a section."""
    return rows_of(SECTIONS_BY_NAME[section].fields)


#: Reasons by name, for the models that are not carried.
NOT_CARRIED: Final[Mapping[str, str]] = {
    "people.User": "people belong to a machine, not to a workspace",
    "people.Membership": "rights are granted where it is imported",
    "people.ApiToken": "secrets stay on their machine",
    "people.PersonalToken": "secrets stay on their machine",
    "people.OAuthClient": "clients belong to a machine",
    "people.OAuthGrant": "secrets stay on their machine",
    "people.TokenGroup": "goes with the tokens",
    "people.GroupMember": "goes with the members",
    "people.Invitation": "goes with the members",
    "people.AuditEvent": "the audit log belongs to the machine that wrote it",
    "search.Change": "the log starts again at the same sequence number",
    "search.Feedback": "names people; the judgements from it are in the topics",
    "search.KeptAnswer": "personal, and names people",
    "search.AnswerDocument": "goes with the answers",
    "search.Bookmark": "personal",
    "search.SavedSearch": "personal",
    "webhooks.Endpoint": "secrets stay where they are",
    "webhooks.Delivery": "goes with the endpoints",
    "search.AskedQuery": "the query log stays on its machine",
    "search.QueryReview": "goes with the query log",
    "ingest.Job": "work of another machine",
    "ingest.JobItem": "work of another machine",
    "ingest.WebPage": "the next sync reads the site again",
    "ingest.Unreadable": "the next sync tries these files again with its own parsers",
}
