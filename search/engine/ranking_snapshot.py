"""Serialisation of a result snapshot: the data common to all pages, as JSON, and the ranking."""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from search.retrieval.errors import InvalidFilter
from search.retrieval.query.channels import QueryChannels
from search.retrieval.query.filter_codec import filters_from_json, filters_to_json
from search.retrieval.ranking_snapshot import RankingSnapshot
from search.retrieval.types import (
    LexicalTotal,
    Mode,
    RerankOutcome,
    SearchQuery,
    SearchResult,
    VectorWindow,
)
from search.vectors.spaces import LiveSpace

_LENGTH = struct.Struct(">I")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSnapshot:
    """A ranked list with the data common to all its pages."""

    #: With the parts for later pages: text, mode, k, snippet length, filters, lexical channel.
    query: SearchQuery
    #: The first page without its hits.
    result: SearchResult
    #: The space of the searched vectors.
    space: LiveSpace | None
    ranking: RankingSnapshot

    def to_bytes(self) -> bytes:
        """Return the list in a compact form; equal lists have equal bytes."""
        head = {
            **_query_to_json(self.query),
            **_result_to_json(self.result),
            "space": _fields_dict(self.space),
            "places": len(self.ranking),
            "columns": list(self.ranking.columns),
        }
        text = json.dumps(head, separators=(",", ":")).encode()
        return _LENGTH.pack(len(text)) + text + self.ranking.to_bytes()

    @classmethod
    def from_bytes(cls, content: bytes) -> "ResultSnapshot":
        """Parse the output of `to_bytes`. Raises ValueError for that of another version of Kebab."""
        try:
            return _parse_snapshot(content)
        except (KeyError, TypeError, struct.error, InvalidFilter) as error:
            raise ValueError(f"Not a list of this version: {error!r}.") from error


def _parse_snapshot(content: bytes) -> ResultSnapshot:
    (length,) = _LENGTH.unpack_from(content)
    start = _LENGTH.size + length
    head = json.loads(content[_LENGTH.size : start])
    mode = Mode(head["mode"])
    return ResultSnapshot(
        query=_query_from_json(head, mode),
        result=_result_from_json(head, mode),
        space=None if head["space"] is None else LiveSpace(**head["space"]),
        ranking=RankingSnapshot.from_bytes(mode, head["places"], head["columns"], content[start:]),
    )


def _query_to_json(query: SearchQuery) -> dict[str, Any]:
    return {
        "text": query.text,
        "lexical": None if query.channels is None else query.channels.lexical,
        "mode": query.mode,
        "k": query.k,
        "snippet_chars": query.snippet_chars,
        "filters": filters_to_json(query.filters),
    }


def _query_from_json(head: Mapping[str, Any], mode: Mode) -> SearchQuery:
    text, lexical = head["text"], head["lexical"]
    return SearchQuery(
        text=text,
        mode=mode,
        k=head["k"],
        filters=filters_from_json(head["filters"]),
        channels=None if lexical is None else QueryChannels(vector=text, lexical=lexical, rerank=text),
        snippet_chars=head["snippet_chars"],
    )


def _result_to_json(result: SearchResult) -> dict[str, Any]:
    return {
        "index_version": result.index_version,
        "seq": result.seq,
        "degraded": result.degraded,
        "warnings": result.warnings,
        "rerank": _fields_dict(result.rerank),
        "lexical_total": _fields_dict(result.lexical_total),
        "vector_window": _fields_dict(result.vector_window),
    }


def _result_from_json(head: Mapping[str, Any], mode: Mode) -> SearchResult:
    rerank, total, window = (head[name] for name in ("rerank", "lexical_total", "vector_window"))
    return SearchResult(
        query=head["text"],
        mode=mode,
        index_version=head["index_version"],
        seq=head["seq"],
        lag=0,
        took_ms=0.0,
        degraded=tuple(head["degraded"]),
        warnings=tuple(head["warnings"]),
        rerank=None if rerank is None else RerankOutcome(**rerank),
        lexical_total=None if total is None else LexicalTotal(**total),
        vector_window=None if window is None else VectorWindow(**window),
    )


def _fields_dict(
    value: LiveSpace | RerankOutcome | LexicalTotal | VectorWindow | None,
) -> dict[str, Any] | None:
    # asdict makes deep copies and takes four times as long.
    return None if value is None else {field.name: getattr(value, field.name) for field in fields(value)}
