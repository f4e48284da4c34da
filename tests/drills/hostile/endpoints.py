"""The reading endpoints that take text from users, and their fields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.drills.hostile.attempt import API

_QUERY = ("mode", "fusion", "k", "snippet_chars", "per_file_cap", "rerank", "cutoff", "explain")
_REST = ("why_not", "cursor", "min_seq")
_FILTERS = (
    "tags_any",
    "lang",
    "path_glob",
    "path_not_glob",
    "trust_min",
    "source",
    "version",
    "kind",
    "code_lang",
    "media",
    "doc_id",
    "author",
)
_MOMENTS = ("ingested_after", "dated_after", "dated_before")
_CHANNELS = ("channels", "channels.vector", "channels.lexical", "channels.rerank")
_IN_BODY = ("filters", *(f"filters.{name}" for name in (*_FILTERS, *_MOMENTS)), *_CHANNELS)
_EXPAND = ("expand", "expand.neighbours", "expand.siblings", "expand.imports")
_PAGE = ("limit", "cursor")
# KEBAB_BULK_LIMIT_S
_BULK_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """A workspace with documents, and names that exist there."""

    workspace: str
    #: Words that occur in the documents.
    words: Sequence[str]
    library_id: str = "/local/notes"
    source_id: str = "00000000-0000-0000-0000-000000000000"
    doc_id: str = "0" * 32
    chunk_id: str = "0" * 32
    #: Cursors of a search with more hits, if there are any.
    cursors: Sequence[str] = ()

    def ids(self) -> dict[str, str]:
        """Return the ids by their names in the braces of paths."""
        return {"ws": self.workspace, "doc": self.doc_id, "chunk": self.chunk_id, "source": self.source_id}


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One method at one address. Names of nested fields are dotted."""

    method: str
    #: Below the API's root, with names of ids in braces.
    path: str
    #: Required fields.
    needed: Sequence[str] = ()
    others: Sequence[str] = ()
    #: Schema of a JSON answer; '' where none is published.
    schema: str = ""
    #: Seconds that an answer may take beyond those of a search.
    more_s: float = 0.0

    @property
    def name(self) -> str:
        """Return method and address."""
        return f"{self.method} {self.path}"

    @property
    def fields(self) -> tuple[str, ...]:
        """Return the names of all fields."""
        return (*self.needed, *self.others)

    def valid_fields(self, source: Random, ground: Ground) -> dict[str, Any]:
        """Return valid values of the required fields."""
        valid: dict[str, Any] = {"libraryId": ground.library_id, "queries": [{"q": "a"}, {"q": "b", "k": 3}]}
        return {name: valid.get(name, source.choice(ground.words)) for name in self.needed}

    def target(self, ids: Mapping[str, str]) -> str:
        """Return the address with the escaped `ids` in place."""
        return API + self.path.format(**ids)


_WS = "/workspaces/{ws}"
_DOCUMENT = f"{_WS}/documents/{{doc}}"

SEARCH_BY_GET = Endpoint(
    method="GET",
    path=f"{_WS}/search",
    needed=("q",),
    others=(*_QUERY, *_REST, *_FILTERS, *_MOMENTS),
    schema="search_response.v1",
)
SEARCH = Endpoint(
    method="POST",
    path=f"{_WS}/search",
    needed=("q",),
    others=(*_QUERY, *_REST, *_IN_BODY),
    schema="search_response.v1",
)

#: All of them only read, as a hostile request must not change anything.
ENDPOINTS = (
    SEARCH_BY_GET,
    SEARCH,
    Endpoint(
        method="POST",
        path=f"{_WS}/search/bulk",
        needed=("queries",),
        schema="bulk_response.v1",
        more_s=_BULK_S,
    ),
    Endpoint(
        method="GET",
        path=f"{_WS}/suggest",
        needed=("q",),
        others=("limit",),
        schema="suggest_response.v1",
    ),
    Endpoint(
        method="GET",
        path=f"{_WS}/libs/search",
        needed=("libraryName",),
        others=("query", "limit", "type"),
        schema="library_search.v1",
    ),
    Endpoint(
        method="GET",
        path=f"{_WS}/libs/snippets",
        needed=("libraryId", "query"),
        others=("version", "kind", "limit", "offset"),
        schema="snippet_search.v1",
    ),
    Endpoint(
        method="GET",
        path=f"{_WS}/context",
        needed=("libraryId", "query"),
        others=("type", "tokens"),
        schema="context.v1",
    ),
    Endpoint(
        method="POST",
        path=f"{_WS}/context-pack",
        needed=("information_request",),
        others=(
            "technical_terms",
            "budget",
            "by_file",
            "response_mode",
            *_QUERY,
            "min_seq",
            *_IN_BODY,
            *_EXPAND,
        ),
        schema="context_pack.v1",
    ),
    Endpoint(method="GET", path=f"{_WS}/documents", others=(*_PAGE, "path_prefix", "source", "version")),
    Endpoint(method="GET", path=_DOCUMENT),
    Endpoint(method="GET", path=f"{_DOCUMENT}/chunks", others=_PAGE),
    Endpoint(method="GET", path=f"{_DOCUMENT}/content"),
    Endpoint(method="GET", path=f"{_WS}/chunks/{{chunk}}", others=("context",)),
    Endpoint(method="GET", path=f"{_WS}/sources", others=_PAGE),
    Endpoint(method="GET", path=f"{_WS}/sources/{{source}}/versions", others=_PAGE),
    Endpoint(method="GET", path=f"{_WS}/jobs", others=(*_PAGE, "state", "kind")),
    Endpoint(method="GET", path="/workspaces", others=_PAGE),
)
