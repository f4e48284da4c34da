"""Serialisation of a result snapshot: the data common to all pages, as JSON, and the ranking as arrays."""

import json
import struct
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from kebab.wire import adapter_of, to_wire
from search.retrieval.errors import InvalidFilter
from search.retrieval.fusion.legs import ID, TIERS, pack_ids, unpack_ids
from search.retrieval.fusion.ranking import RankedEntry, Ranking, build_details
from search.retrieval.query.channels import QueryChannels
from search.retrieval.query.filter_codec import filters_from_json, filters_to_json
from search.retrieval.types import Mode, RetrievalDetail, SearchQuery, SearchResult
from search.vectors.spaces import LiveSpace

#: Maximum number of positions in a snapshot.
MAX_PLACES = 1_000

# The stored columns; NaN, and the rank or tier 0, mean an absent value.
_DTYPES = {
    "fusion_score": "<f8",
    "relevance": "<f8",
    "lexical_score": "<f8",
    "lexical_rank": "<u2",
    "vector_score": "<f8",
    "vector_rank": "<u2",
    "exact_rank": "<u2",
    "tier": "u1",
    "rerank_score": "<f8",
    "rerank_rank": "<u2",
    "related": "u1",
    "outdated": "u1",
    "pinned": "u1",
}
# The number of the document, from 1, whose best passage or further section a chunk is.
_DOCUMENT = "document"
_COLUMN_DTYPES = {**_DTYPES, _DOCUMENT: "<u2"}

_Column = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingSnapshot:
    """Chunks in their order, 1,000 at most, with the scores and ranks behind it.

    In a list of documents the sections of each follow its best passage.
    """

    method: Mode
    #: 16 bytes per chunk.
    chunk_ids: bytes
    #: By the name of a detail; a detail without any value is left out.
    columns: Mapping[str, _Column]

    def __len__(self) -> int:
        """Return the number of positions."""
        return len(self.chunk_ids) // ID.itemsize

    @classmethod
    def from_ranking(cls, ranking: Ranking) -> "RankingSnapshot":
        """Take a snapshot of a fused list."""
        columns = {name: column[:MAX_PLACES] for name, column in ranking.columns().items()}
        ids = ranking.ids[:MAX_PLACES].tobytes()
        return cls(method=ranking.mode, chunk_ids=ids, columns=_build_columns(columns))

    @classmethod
    def from_entries(cls, mode: Mode, entries: Sequence[RankedEntry]) -> "RankingSnapshot":
        """Take a snapshot of the list after the post-fusion stages, ranks 1, 2, 3, …"""
        numbered = [
            (number, passage)
            for number, entry in enumerate(entries, start=1)
            for passage in (entry, *(entry.sections or ()))
        ][:MAX_PLACES]
        values: dict[str, Sequence[float]] = {
            name: [_encode_number(name, passage.retrieval) for _, passage in numbered] for name in _DTYPES
        }
        if any(entry.sections is not None for entry in entries):
            values[_DOCUMENT] = [number for number, _ in numbered]
        ids = pack_ids(passage.chunk_id for _, passage in numbered).tobytes()
        return cls(method=mode, chunk_ids=ids, columns=_build_columns(values))

    def ids(self, start: int) -> list[str]:
        """Return the chunk ids from entry `start` on, counted from 0."""
        return unpack_ids(np.frombuffer(self.chunk_ids, ID)[self._place_of(start) :])

    def entries(
        self, start: int, visible: Container[str] | None = None, *, limits_scores: bool = False
    ) -> Iterator[RankedEntry]:
        """Return the entries from number `start` on, counted from 0, as they were ranked.

        Chunks that are not `visible` are left out (None: all are); of a document the next section is taken.
        With `limits_scores` none has a higher score than one before it.
        """
        place = self._place_of(start)
        numbers = self.columns.get(_DOCUMENT)
        most = self._least_scores() if limits_scores else np.ones(len(self))
        passages = (
            self._entry(place, chunk_id, float(most[place]))
            for place, chunk_id in enumerate(self.ids(start), start=place)
            if visible is None or chunk_id in visible
        )
        if numbers is None:
            yield from passages
            return
        for _, (best, *sections) in groupby(passages, key=lambda passage: passage.rank):
            yield replace(best, sections=tuple(sections))

    def _place_of(self, entry: int) -> int:
        numbers = self.columns.get(_DOCUMENT)
        return entry if numbers is None else int(np.searchsorted(numbers, entry + 1))

    def _least_scores(self) -> np.ndarray:
        """Return (n,) float64, the least score of the entries up to each place; sections don't count."""
        scores = np.asarray(self.columns.get("relevance", self.columns["fusion_score"]), np.float64)
        if "rerank_score" in self.columns:
            reranked = np.asarray(self.columns["rerank_score"], np.float64)
            scores = np.where(np.isnan(reranked), scores, reranked)
        if _DOCUMENT in self.columns:
            scores = np.where(np.diff(self.columns[_DOCUMENT], prepend=0), scores, np.inf)
        least: np.ndarray = np.minimum.accumulate(scores)
        return least

    def _entry(self, place: int, chunk_id: str, most: float) -> RankedEntry:
        detail, numbers = self._detail(place), self.columns.get(_DOCUMENT)
        rank = place + 1 if numbers is None else int(numbers[place])
        score = min(detail.score, most)
        return RankedEntry(rank=rank, chunk_id=chunk_id, score=score, retrieval=detail)

    def to_bytes(self) -> bytes:
        """Return the ids, followed by the columns in the order of `columns`."""
        return self.chunk_ids + b"".join(column.tobytes() for column in self.columns.values())

    @classmethod
    def from_bytes(cls, mode: Mode, places: int, names: Sequence[str], stored: bytes) -> "RankingSnapshot":
        """Parse the output of `to_bytes` for this number of positions and these columns.

        Raises ValueError, KeyError.
        """
        at = places * ID.itemsize
        chunk_ids, columns = stored[:at], dict[str, _Column]()
        for name in names:
            columns[name] = np.frombuffer(stored, dtype=_COLUMN_DTYPES[name], count=places, offset=at)
            at += columns[name].nbytes
        if at != len(stored):
            raise ValueError(f"{places} places of {names} take {at} bytes, not {len(stored)}.")
        return cls(method=mode, chunk_ids=chunk_ids, columns=columns)

    def _detail(self, position: int) -> RetrievalDetail:
        row = {name: [each[position].item()] for name, each in self.columns.items() if name != _DOCUMENT}
        return build_details(self.method, row)[0]


def _build_columns(values: Mapping[str, Sequence[float] | _Column]) -> dict[str, _Column]:
    columns = {
        name: np.array(values[name], dtype=type_) for name, type_ in _COLUMN_DTYPES.items() if name in values
    }
    return {name: column for name, column in columns.items() if name == "fusion_score" or _has_any(column)}


def _has_any(column: _Column) -> bool:
    return bool((~np.isnan(column)).any() if column.dtype.kind == "f" else column.any())


def _encode_number(name: str, detail: RetrievalDetail) -> float:
    value = getattr(detail, name)
    if name == "tier":
        return TIERS.index(value)
    if value is None:
        return np.nan if _DTYPES[name] == "<f8" else 0
    return float(value)


_LENGTH = struct.Struct(">I")
# What later pages need.
_QUERY_FIELDS = (
    *("text", "operators", "mode", "fusion", "exact", "prefix", "group", "sort", "recency", "k"),
    *(
        "snippet_chars",
        "include",
        "max_text_chars",
        "cutoff",
        "floor",
        "needs_words",
        "per_file_cap",
        "rerank",
    ),
)
_CHANNELS = ("vector", "lexical", "rerank")
_query_values = attrgetter(*_QUERY_FIELDS)
_channel_values = attrgetter(*_CHANNELS)
_RESULT_FIELDS = {
    *("query", "corrected_query", "mode", "index_version", "seq", "related_total"),
    *("degraded", "warnings", "rerank", "lexical_total", "vector_window"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSnapshot:
    """A ranked list with the data common to all its pages."""

    #: As it was searched, without explanations.
    query: SearchQuery
    #: The first page without its hits.
    result: SearchResult
    #: Number and token of the change at which it was found.
    position: tuple[int, int] = (0, 0)
    #: The space of the searched vectors.
    space: LiveSpace | None
    ranking: RankingSnapshot
    #: The number of fused candidates considered, and whether there may be others that belong into the list.
    window: int
    is_cut: bool
    #: Chunk ids of the copies of a text, by that of the one in the list.
    copies: Mapping[str, Sequence[str]]
    #: Chunk ids of older versions, by those of the chunks of what replaces them.
    older: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """Return the list in a compact form; equal lists have equal bytes."""
        head = {
            "query": dict(zip(_QUERY_FIELDS, _query_values(self.query), strict=True)),
            "channels": self.query.channels and _channel_values(self.query.channels),
            "filters": filters_to_json(self.query.filters),
            "result": to_wire(self.result, include=_RESULT_FIELDS),
            "position": self.position,
            "space": self.space and to_wire(self.space),
            "places": len(self.ranking),
            "columns": list(self.ranking.columns),
            "window": self.window,
            "is_cut": self.is_cut,
            "copies": self.copies,
            "older": self.older,
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
    result: SearchResult = adapter_of(SearchResult).validate_python(
        {**head["result"], "lag": 0, "took_ms": 0.0}
    )
    return ResultSnapshot(
        query=_parse_query(head),
        result=result,
        position=tuple(head.get("position", (0, 0))),  # absent in lists of earlier versions
        space=None if head["space"] is None else LiveSpace(**head["space"]),
        ranking=RankingSnapshot.from_bytes(result.mode, head["places"], head["columns"], content[start:]),
        window=head["window"],
        is_cut=head["is_cut"],
        copies=head["copies"],
        older=head.get("older", {}),  # absent in lists of earlier versions
    )


def _parse_query(head: Mapping[str, Any]) -> SearchQuery:
    channels = head["channels"]
    return SearchQuery(
        **head["query"],
        filters=filters_from_json(head["filters"]),
        channels=channels and QueryChannels(**dict(zip(_CHANNELS, channels, strict=True))),
    )
