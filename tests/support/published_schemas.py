"""The published JSON Schemas that are made of dataclasses."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ingest.services.embedding_status import EmbeddingStatus, SpaceStatus
from kebab.people.access_report import AccessReport, ItemAccess
from search.answers.citation_check import AnswerCheck
from search.answers.types import Answer, Usage
from search.context.types import (
    BudgetUse,
    ContextPack,
    OutlinedFile,
    Overview,
    PackedDocument,
    PackedText,
    Symbol,
)
from search.engine.suggest import Suggestions
from search.evaluation.comparison import Comparison
from search.libraries.context import LibraryContext
from search.libraries.find import LibraryResults, RankedLibrary
from search.libraries.library import Version
from search.libraries.snippets import LibrarySnippet, SnippetSearch
from search.retrieval.citation import Citation
from search.retrieval.expansion import ReachedChunk
from search.retrieval.types import SearchHit, SearchResult
from tests.support.dataclass_schemas import Schema, schema_of_type
from tests.support.paths import ROOT

_FOLDER = ROOT / "docs" / "wire-schema" / "v1"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentType:
    """The type of the documents of a schema."""

    type_: type
    #: Whether a document names its schema.
    is_versioned: bool = True
    #: Schemas of fields of which the type says less or nothing.
    known: Mapping[str, Schema] = field(default_factory=dict)
    #: The name of a field, and those of its own that are not sent.
    unsent: tuple[str, ...] = ()


_UUID = {"type": "string", "format": "uuid"}
_EXPLAIN = {"anyOf": [{"type": "null"}, {"$ref": "search_explain.v1.json"}]}
#: By name. No dataclass is the whole document of the others, which are written by hand.
PUBLISHED: Mapping[str, DocumentType] = {
    "access_report.v1": DocumentType(type_=AccessReport),
    "answer.v1": DocumentType(type_=Answer),
    "answer_check.v1": DocumentType(type_=AnswerCheck),
    "citation.v1": DocumentType(type_=Citation, is_versioned=False),
    "context.v1": DocumentType(type_=LibraryContext),
    "context_pack.v1": DocumentType(type_=ContextPack),
    "embedding.v1": DocumentType(type_=EmbeddingStatus),
    "embedding_space.v1": DocumentType(type_=SpaceStatus, is_versioned=False),
    "library_search.v1": DocumentType(type_=LibraryResults),
    "library_snippet.v1": DocumentType(type_=LibrarySnippet, is_versioned=False),
    "run_comparison.v1": DocumentType(
        type_=Comparison, is_versioned=False, known={"baseline": _UUID, "run": _UUID}
    ),
    "search_hit.v1": DocumentType(type_=SearchHit, unsent=("retrieval", "related", "outdated", "relevance")),
    "search_response.v1": DocumentType(type_=SearchResult, known={"explain": _EXPLAIN}),
    "snippet_search.v1": DocumentType(type_=SnippetSearch),
    "suggest_response.v1": DocumentType(type_=Suggestions),
}
# Names by which clients generated from the OpenAPI document know parts, unless they are those of the types.
_TITLES: Mapping[type, str] = {
    BudgetUse: "UsedBudget",
    ItemAccess: "Thing",
    OutlinedFile: "OverviewFile",
    Overview: "ContextOverview",
    PackedDocument: "ContextFile",
    PackedText: "ContextSegment",
    RankedLibrary: "Library",
    ReachedChunk: "SegmentChunk",
    Symbol: "OverviewSymbol",
    Usage: "AnswerUsage",
    Version: "LibraryVersion",
}


def schema_file(name: str) -> Path:
    """Return the file of a published schema."""
    return _FOLDER / f"{name}.json"


def generate_schema(name: str) -> str:
    """Return the content of the file of a schema that is made of a dataclass."""
    published = PUBLISHED[name]
    others = {each.type_: other for other, each in PUBLISHED.items() if other != name}
    body = schema_of_type(published.type_, others, _TITLES)
    properties: dict[str, Any] = {**body["properties"], **published.known}
    for name_of_part in published.unsent[1:]:
        _leave_out(properties[published.unsent[0]], name_of_part)
    if published.is_versioned:
        properties = {"schema_version": {"type": "string", "const": name}, **properties}
    schema = {
        "$schema": _DIALECT,
        "$id": f"{name}.json",
        "title": name,
        "description": body["description"],
        "type": "object",
        "required": list(properties),
        "properties": properties,
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _leave_out(part: Schema, name: str) -> None:
    del part["properties"][name]
    part["required"].remove(name)
