"""Which fields of which rows a bundle holds, in format 1; docs/bundles.md says why, model by model.

A field that ends in `_number` names a row of another section. The ids that workspaces give their rows are not
here: an import gives new ones, except to documents and chunks, whose ids follow from what they are.
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
    Fields,
    Fitting,
    Id,
    Json,
    Moment,
    Number,
    OneOf,
    Spans,
    Text,
    Texts,
    Truth,
    Whole,
    hash_text,
    place,
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
# As keys of sources are, whoever made them; no folder can be meant by one.
_KEY = Fitting(pattern=re.compile(r"[^\x00-\x1f/\\\x7f]{1,63}"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The rows of one model."""

    model: type[models.Model]
    #: By the name of the model's field, or of what stands for it here.
    fields: Fields
    #: Fields of the model that are not carried, and why.
    left: Mapping[str, str]


_OWN = "each workspace gives its own"
_OF_THIS = "every row is the new workspace's"

SECTIONS_BY_NAME: Final[Mapping[str, Section]] = {
    "workspace": Section(
        model=Workspace,
        fields={
            "slug": Text(most=63),
            "name": Text(most=200),
            "corpus_id": Id(),
            "settings": Json(type_=dict),
            "head_seq": Whole(most=MAX_COUNT),
        },
        left={"id": _OWN, "created_at": "the time of the import", "quota": "its operator's to say"},
    ),
    "groups": Section(
        model=Group,
        fields={"name": Text(most=100)},
        left={"id": _OWN, "workspace": _OF_THIS, "created_at": "the time of the import"},
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
            "stars": Whole(most=_SMALL, may_be_absent=True),
            "total_snippets": Whole(most=_SMALL),
            "rules": Json(type_=list),
            "library_id": Text(most=300),
            "project": Json(type_=dict),
            "last_indexed_at": Moment(may_be_absent=True),
            "sync_every_minutes": Whole(most=_SMALL, may_be_absent=True),
            "last_sync_at": Moment(may_be_absent=True),
            "sync_failures": Whole(most=_SMALL),
            "is_restricted": Truth(),
            "created_at": Moment(),
        },
        left={
            "workspace": _OF_THIS,
            "sealed_credentials": "secrets stay where they are",
            "watch": "nothing is read before somebody asks for it",
            "next_sync_at": "nothing is read before somebody asks for it",
        },
    ),
    "readers": Section(
        model=SourceReader,
        fields={"source_number": place(), "group_number": place()},
        left={"id": _OWN, "workspace": _OF_THIS},
    ),
    "versions": Section(
        model=SourceVersion,
        fields={
            "source_number": place(),
            "tag": Text(most=200),
            "commit": Text(most=64),
            "title": Text(most=300),
            "created_at": Moment(),
        },
        left={"id": _OWN, "workspace": _OF_THIS},
    ),
    "spaces": Section(
        model=EmbeddingSpace,
        fields={
            "model": Text(most=200),
            "revision": Text(most=100),
            "dim": Whole(least=1, most=MAX_DIM),
            "query_prefix": Text(most=200),
            "passage_prefix": Text(most=200),
            "languages": Texts(most=16),
            "state": OneOf(choices=tuple(SpaceState.values)),
            "epoch": Whole(most=MAX_COUNT),
            "known_share": Number(may_be_absent=True),
            "switches_by_itself": Truth(),
            "held_because": Text(),
            "live_until": Moment(may_be_absent=True),
            "retire_at": Moment(may_be_absent=True),
            "created_at": Moment(),
        },
        left={"id": _OWN, "workspace": _OF_THIS, "is_indexed": "an import makes the index"},
    ),
    "topics": Section(
        model=Topic,
        fields={
            "topic_set": Text(most=64),
            "topic_id": Text(most=100),
            "text": Text(),
            "filters": Json(type_=dict),
            "is_unanswerable": Truth(),
            "origin": OneOf(choices=tuple(TopicOrigin.values)),
            "created_at": Moment(),
        },
        left={
            "id": _OWN,
            "workspace": _OF_THIS,
            "created_by": "names a person",
            "creator": "names a person",
        },
    ),
    "judgements": Section(
        model=Judgement,
        fields={
            "topic_number": place(),
            "source_number": place(may_be_absent=True),
            "version": Text(most=200),
            "path": Text(most=1_000),
            "fragment": Text(most=100),
            "grade": Whole(least=-(2**15), most=2**15 - 1),
        },
        left={"id": _OWN, "workspace": _OF_THIS, "place_key": "follows from the source's new id"},
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
            "created_at": Moment(),
            "started_at": Moment(may_be_absent=True),
            "finished_at": Moment(may_be_absent=True),
        },
        left={
            "id": _OWN,
            "workspace": _OF_THIS,
            "job_id": "jobs are not carried",
            "created_by": "names a person",
            "creator": "names a person",
        },
    ),
    "run_topics": Section(
        model=RunTopic,
        fields={
            "run_number": place(),
            "ordinal": Whole(most=_SMALL),
            "topic_id": Text(most=100),
            "text": Text(),
            "filters": Json(type_=dict),
            "is_unanswerable": Truth(),
            "judgements": Json(type_=list),
            "ranking": Json(type_=list, may_be_absent=True),
            "measures": Json(type_=dict),
            "ms": Number(may_be_absent=True),
            "is_empty": Truth(may_be_absent=True),
            "is_refused": Truth(may_be_absent=True),
            "degraded": Texts(most=20),
            "index_version": Text(most=500),
        },
        left={"id": _OWN, "workspace": _OF_THIS},
    ),
    "documents": Section(
        model=Document,
        fields={
            "doc_id": Id(),
            "version_number": place(),
            "path": Text(most=1_000),
            "title": Text(most=500),
            "lang": Text(most=16),
            "tags": Texts(most=100),
            "trust_level": OneOf(choices=tuple(Trust.values)),
            "mime": Text(most=200),
            "media": OneOf(choices=tuple(MediaKind.values)),
            "size_bytes": Whole(),
            "content_hash": hash_text(),
            "overrides": Json(type_=dict),
            "parser_version": Text(most=64),
            "chunker_version": Text(most=64),
            "source_mtime_ns": Whole(least=-(2**63), may_be_absent=True),
            "source_revision": Text(most=200),
            "requested_at": Moment(may_be_absent=True),
            "indexed_at": Moment(),
            "metadata": Json(type_=dict),
        },
        left={
            "id": _OWN,
            "workspace": _OF_THIS,
            "source": "its version's",
            "title_folded": "made by the database",
        },
    ),
    "chunks": Section(
        model=Chunk,
        fields={
            "chunk_id": Id(),
            "ordinal": Whole(least=-(2**31), most=_SMALL),
            "kind": OneOf(choices=("code", "info")),
            "language": Text(most=40),
            "heading_path": Texts(),
            "breadcrumb": Text(),
            "section_label": Text(),
            "text": Text(),
            "source_spans": Spans(),
            "token_count": Whole(least=-(2**31), most=_SMALL),
            "embed_hash": Id(),
            "row_version": Whole(least=-(2**31), most=_SMALL),
        },
        left={"workspace": _OF_THIS, "document": "the row that it is in says it"},
    ),
    "vectors": Section(
        model=ChunkVector,
        fields={},
        left={
            "workspace": _OF_THIS,
            "space": "a column",
            "chunk_id": "a column of ids, 16 bytes each",
            "version_id": "its chunk's document's",
            "embed_hash": "its chunk's",
            "embedding": "the row's body: halves, the least byte first",
            "written": "says when it was written here",
        },
    ),
}

#: Models of which nothing is carried, and why.
NOT_CARRIED: Final[Mapping[str, str]] = {
    "people.User": "people belong to a machine, not to a workspace",
    "people.Membership": "who may do what is decided where it is brought in",
    "people.ApiToken": "secrets stay where they are",
    "people.TokenGroup": "goes with the tokens",
    "people.GroupMember": "goes with the members",
    "people.Invitation": "goes with the members",
    "people.AuditEvent": "what was done on another machine is that machine's record",
    "search.Change": "the log begins anew, at the number that it had come to",
    "search.Feedback": "names people; what was judged by it is among the topics",
    "search.KeptAnswer": "names people, and is theirs",
    "search.AnswerDocument": "goes with the answers",
    "search.AskedQuery": "what people asked stays where they asked it",
    "ingest.Job": "work of another machine",
    "ingest.JobItem": "work of another machine",
    "ingest.WebPage": "what is remembered of a site is read anew by the next sync",
    "ingest.Unreadable": "the next sync tries these files again, by the parsers that there are then",
}
