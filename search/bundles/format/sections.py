"""Fields of the rows of a bundle in format 1; docs/bundles.md gives the reasons, model by model.

A field that ends in `_number` refers to a row of another section. Row ids of the workspace are not included:
an import assigns new ones, except to documents and chunks, whose ids are derived from their content.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.db import models

from kebab.people.models import Group, Workspace
from search.bundles.format.layout import MAX_DIM
from search.bundles.format.values import (
    MAX_COUNT,
    Boolean,
    Fields,
    Id,
    Integer,
    Json,
    MatchingText,
    Number,
    OneOf,
    Spans,
    Text,
    Texts,
    Timestamp,
    hash_text,
    row_number,
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
_KEY = MatchingText(pattern=re.compile(r"[^\x00-\x1f/\\\x7f]{1,63}"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The rows of one model."""

    model: type[models.Model]
    #: Kinds by the name of the model's field, or of its replacement in the bundle.
    fields: Fields
    #: Reasons by name, for the model's fields that are not carried.
    omitted: Mapping[str, str]


_OWN = "each workspace assigns its own"
_OF_WORKSPACE = "every row belongs to the new workspace"

SECTIONS_BY_NAME: Final[Mapping[str, Section]] = {
    "workspace": Section(
        model=Workspace,
        fields={
            "slug": Text(most=63),
            "name": Text(most=200),
            "corpus_id": Id(),
            "settings": Json(type_=dict),
            "head_seq": Integer(most=MAX_COUNT),
        },
        omitted={
            "id": _OWN,
            "created_at": "the time of the import",
            "quota": "set by the operator of each machine",
        },
    ),
    "groups": Section(
        model=Group,
        fields={"name": Text(most=100)},
        omitted={"id": _OWN, "workspace": _OF_WORKSPACE, "created_at": "the time of the import"},
    ),
    "sources": Section(
        model=Source,
        fields={
            "id": Id(),
            "key": _KEY,
            "kind": OneOf(choices=tuple(SourceKind.values)),
            "config": Json(type_=dict),
            "title": Text(most=300),
            "description": Text(),
            "state": OneOf(choices=tuple(SourceState.values)),
            "default_tags": Texts(most=100),
            "default_trust": OneOf(choices=tuple(Trust.values)),
            "trust_score": Number(),
            "stars": Integer(most=_SMALL, may_be_absent=True),
            "total_snippets": Integer(most=_SMALL),
            "rules": Json(type_=list),
            "library_id": Text(most=300),
            "project": Json(type_=dict),
            "last_indexed_at": Timestamp(may_be_absent=True),
            "sync_every_minutes": Integer(most=_SMALL, may_be_absent=True),
            "last_sync_at": Timestamp(may_be_absent=True),
            "sync_failures": Integer(most=_SMALL),
            "is_restricted": Boolean(),
            "created_at": Timestamp(),
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
        fields={"source_number": row_number(), "group_number": row_number()},
        omitted={"id": _OWN, "workspace": _OF_WORKSPACE},
    ),
    "versions": Section(
        model=SourceVersion,
        fields={
            "source_number": row_number(),
            "tag": Text(most=200),
            "commit": Text(most=64),
            "title": Text(most=300),
            "created_at": Timestamp(),
        },
        omitted={"id": _OWN, "workspace": _OF_WORKSPACE, "cursor": "the next sync begins from the start"},
    ),
    "spaces": Section(
        model=EmbeddingSpace,
        fields={
            "model": Text(most=200),
            "revision": Text(most=100),
            "dim": Integer(least=1, most=MAX_DIM),
            "query_prefix": Text(most=200),
            "passage_prefix": Text(most=200),
            "languages": Texts(most=16),
            "state": OneOf(choices=tuple(SpaceState.values)),
            "epoch": Integer(most=MAX_COUNT),
            "known_share": Number(may_be_absent=True),
            "switches_by_itself": Boolean(),
            "held_because": Text(),
            "live_until": Timestamp(may_be_absent=True),
            "retire_at": Timestamp(may_be_absent=True),
            "created_at": Timestamp(),
        },
        omitted={"id": _OWN, "workspace": _OF_WORKSPACE, "is_indexed": "an import builds the index"},
    ),
    "topics": Section(
        model=Topic,
        fields={
            "topic_set": Text(most=64),
            "topic_id": Text(most=100),
            "text": Text(),
            "filters": Json(type_=dict),
            "is_unanswerable": Boolean(),
            "origin": OneOf(choices=tuple(TopicOrigin.values)),
            "created_at": Timestamp(),
        },
        omitted={
            "id": _OWN,
            "workspace": _OF_WORKSPACE,
            "created_by": "names a person",
            "creator": "names a person",
        },
    ),
    "judgements": Section(
        model=Judgement,
        fields={
            "topic_number": row_number(),
            "source_number": row_number(may_be_absent=True),
            "version": Text(most=200),
            "path": Text(most=1_000),
            "fragment": Text(most=100),
            "grade": Integer(least=-(2**15), most=2**15 - 1),
        },
        omitted={"id": _OWN, "workspace": _OF_WORKSPACE, "place_key": "follows from the source's new id"},
    ),
    "runs": Section(
        model=Run,
        fields={
            "name": Text(most=100),
            "topic_set": Text(most=64),
            "state": OneOf(
                choices=(RunState.SUCCEEDED.value, RunState.FAILED.value, RunState.CANCELLED.value)
            ),
            "settings": Json(type_=dict),
            "measures": Json(type_=list),
            "record": Json(type_=dict),
            "figures": Json(type_=dict),
            "sources": Texts(most=63),
            "error": Text(),
            "created_at": Timestamp(),
            "started_at": Timestamp(may_be_absent=True),
            "finished_at": Timestamp(may_be_absent=True),
        },
        omitted={
            "id": _OWN,
            "workspace": _OF_WORKSPACE,
            "job_id": "jobs are not carried",
            "created_by": "names a person",
            "creator": "names a person",
        },
    ),
    "run_topics": Section(
        model=RunTopic,
        fields={
            "run_number": row_number(),
            "ordinal": Integer(most=_SMALL),
            "topic_id": Text(most=100),
            "text": Text(),
            "filters": Json(type_=dict),
            "is_unanswerable": Boolean(),
            "judgements": Json(type_=list),
            "ranking": Json(type_=list, may_be_absent=True),
            "measures": Json(type_=dict),
            "ms": Number(may_be_absent=True),
            "is_empty": Boolean(may_be_absent=True),
            "is_refused": Boolean(may_be_absent=True),
            "degraded": Texts(most=20),
            "index_version": Text(most=500),
        },
        omitted={"id": _OWN, "workspace": _OF_WORKSPACE},
    ),
    "documents": Section(
        model=Document,
        fields={
            "doc_id": Id(),
            "version_number": row_number(),
            "path": Text(most=1_000),
            "title": Text(most=500),
            "lang": Text(most=16),
            "tags": Texts(most=100),
            "trust_level": OneOf(choices=tuple(Trust.values)),
            "mime": Text(most=200),
            "media": OneOf(choices=tuple(MediaKind.values)),
            "size_bytes": Integer(),
            "content_hash": hash_text(),
            "overrides": Json(type_=dict),
            "parser_version": Text(most=64),
            "chunker_version": Text(most=64),
            "source_mtime_ns": Integer(least=-(2**63), may_be_absent=True),
            "source_revision": Text(most=200),
            "requested_at": Timestamp(may_be_absent=True),
            "indexed_at": Timestamp(),
            "metadata": Json(type_=dict),
        },
        omitted={
            "id": _OWN,
            "workspace": _OF_WORKSPACE,
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
            "chunk_id": Id(),
            "ordinal": Integer(least=-(2**31), most=_SMALL),
            "kind": OneOf(choices=("code", "info")),
            "language": Text(most=40),
            "heading_path": Texts(),
            "breadcrumb": Text(),
            "section_label": Text(),
            "text": Text(),
            "source_spans": Spans(),
            "token_count": Integer(least=-(2**31), most=_SMALL),
            "embed_hash": Id(),
            "row_version": Integer(least=-(2**31), most=_SMALL),
        },
        omitted={"workspace": _OF_WORKSPACE, "document": "its row's column"},
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
