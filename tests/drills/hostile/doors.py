"""The doors that take text from a person, and what each takes."""

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
)
_AFTER = "ingested_after"
_CHANNELS = ("channels", "channels.vector", "channels.lexical", "channels.rerank")
_IN_BODY = ("filters", *(f"filters.{name}" for name in (*_FILTERS, _AFTER)), *_CHANNELS)
_EXPAND = ("expand", "expand.neighbours", "expand.siblings", "expand.imports")
_PAGE = ("limit", "cursor")
# KEBAB_BULK_LIMIT_S
_BULK_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What attempts stand on: a workspace with documents in it, and names that hold there."""

    workspace: str
    #: Words that occur in the documents.
    words: Sequence[str]
    library_id: str = "/local/notes"
    source_id: str = "00000000-0000-0000-0000-000000000000"
    doc_id: str = "0" * 32
    chunk_id: str = "0" * 32
    #: Of a search that has more hits, where there is one.
    cursors: Sequence[str] = ()

    def ids(self) -> dict[str, str]:
        """Return what stands in an address in the place of each name in braces."""
        return {"ws": self.workspace, "doc": self.doc_id, "chunk": self.chunk_id, "source": self.source_id}


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """One method at one address. Names of fields are dotted where one holds others."""

    method: str
    #: Below the API's root, with names of ids in braces.
    path: str
    #: Fields that a request can't do without.
    needed: Sequence[str] = ()
    others: Sequence[str] = ()
    #: Of an answer in JSON; '' where none is published.
    schema: str = ""
    #: Seconds that an answer may take beyond a search's.
    more_s: float = 0.0

    @property
    def name(self) -> str:
        """Method and address."""
        return f"{self.method} {self.path}"

    @property
    def fields(self) -> tuple[str, ...]:
        """Return the names of everything it takes."""
        return (*self.needed, *self.others)

    def fitting(self, source: Random, ground: Ground) -> dict[str, Any]:
        """Return what has to be there, as anybody would ask it."""
        given: dict[str, Any] = {"libraryId": ground.library_id, "queries": [{"q": "a"}, {"q": "b", "k": 3}]}
        return {name: given.get(name, source.choice(ground.words)) for name in self.needed}

    def target(self, ids: Mapping[str, str]) -> str:
        """Return the address with `ids`, which are escaped already, in their places."""
        return API + self.path.format(**ids)


_WS = "/workspaces/{ws}"
_DOCUMENT = f"{_WS}/documents/{{doc}}"

SEARCH_BY_GET = Door(
    method="GET",
    path=f"{_WS}/search",
    needed=("q",),
    others=(*_QUERY, *_REST, *_FILTERS, _AFTER),
    schema="search_response.v1",
)
SEARCH = Door(
    method="POST",
    path=f"{_WS}/search",
    needed=("q",),
    others=(*_QUERY, *_REST, *_IN_BODY),
    schema="search_response.v1",
)

#: All that read: a hostile request may not be one that changes something.
DOORS = (
    SEARCH_BY_GET,
    SEARCH,
    Door(
        method="POST",
        path=f"{_WS}/search/bulk",
        needed=("queries",),
        schema="bulk_response.v1",
        more_s=_BULK_S,
    ),
    Door(
        method="GET",
        path=f"{_WS}/suggest",
        needed=("q",),
        others=("limit",),
        schema="suggest_response.v1",
    ),
    Door(
        method="GET",
        path=f"{_WS}/libs/search",
        needed=("libraryName",),
        others=("query", "limit", "type"),
        schema="library_search.v1",
    ),
    Door(
        method="GET",
        path=f"{_WS}/libs/snippets",
        needed=("libraryId", "query"),
        others=("version", "kind", "limit", "offset"),
        schema="snippet_search.v1",
    ),
    Door(
        method="GET",
        path=f"{_WS}/context",
        needed=("libraryId", "query"),
        others=("type", "tokens"),
        schema="context.v1",
    ),
    Door(
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
    Door(method="GET", path=f"{_WS}/documents", others=(*_PAGE, "path_prefix", "source", "version")),
    Door(method="GET", path=_DOCUMENT),
    Door(method="GET", path=f"{_DOCUMENT}/chunks", others=_PAGE),
    Door(method="GET", path=f"{_DOCUMENT}/content"),
    Door(method="GET", path=f"{_WS}/chunks/{{chunk}}", others=("context",)),
    Door(method="GET", path=f"{_WS}/sources", others=_PAGE),
    Door(method="GET", path=f"{_WS}/sources/{{source}}/versions", others=_PAGE),
    Door(method="GET", path=f"{_WS}/jobs", others=(*_PAGE, "state", "kind")),
    Door(method="GET", path="/workspaces", others=_PAGE),
)
