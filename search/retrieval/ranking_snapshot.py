"""A compact snapshot of a ranked list, stored between two pages of a result.

It is stored in columns: 190 positions found by two legs take 8.9 kB and 0.05 ms to build; as objects, one
per position, 0.4 ms.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from search.retrieval.fusion.legs import ID, TIERS, unpack_ids
from search.retrieval.fusion.ranking import RankedEntry, Ranking
from search.retrieval.types import Mode, RetrievalDetail

#: Maximum number of positions in a snapshot.
MAX_PLACES = 1_000

_ID_BYTES = 16
# The stored columns; NaN, and the rank or tier 0, mean an absent value.
_DTYPES = {
    "fusion_score": "<f8",
    "lexical_score": "<f8",
    "lexical_rank": "<u2",
    "vector_score": "<f8",
    "vector_rank": "<u2",
    "exact_rank": "<u2",
    "tier": "u1",
    "rerank_score": "<f8",
    "rerank_rank": "<u2",
}

_Column = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingSnapshot:
    """Chunks in their order, 1,000 at most, with the scores and ranks behind it."""

    method: Mode
    #: 16 bytes per chunk.
    chunk_ids: bytes
    #: By the name of a detail; a detail without any value is left out.
    columns: Mapping[str, _Column]

    def __len__(self) -> int:
        """Return the number of positions."""
        return len(self.chunk_ids) // _ID_BYTES

    @classmethod
    def from_ranking(cls, ranking: Ranking) -> "RankingSnapshot":
        """Take a snapshot of a fused list."""
        columns = {name: column[:MAX_PLACES] for name, column in ranking.columns().items()}
        ids = ranking.ids[:MAX_PLACES].tobytes()
        return cls(method=ranking.mode, chunk_ids=ids, columns=_build_columns(columns))

    @classmethod
    def from_entries(cls, mode: Mode, entries: Sequence[RankedEntry]) -> "RankingSnapshot":
        """Take a snapshot of the list after the post-fusion stages, ranks 1, 2, 3, …"""
        kept = entries[:MAX_PLACES]
        values = {name: [_encode_number(name, entry.retrieval) for entry in kept] for name in _DTYPES}
        return cls(
            method=mode, chunk_ids=_pack_ids(entry.chunk_id for entry in kept), columns=_build_columns(values)
        )

    def ids(self, start: int) -> list[str]:
        """Return the chunk ids from position `start` on, counted from 0."""
        return unpack_ids(np.frombuffer(self.chunk_ids, ID)[start:])

    def entries(self, start: int) -> Iterator[RankedEntry]:
        """Return the entries from position `start` on, counted from 0, as they were ranked."""
        for position, chunk_id in enumerate(self.ids(start), start=start):
            detail = self._detail(position)
            yield RankedEntry(rank=position + 1, chunk_id=chunk_id, score=detail.score, retrieval=detail)

    def to_bytes(self) -> bytes:
        """Return the ids, followed by the columns in the order of `columns`."""
        return self.chunk_ids + b"".join(column.tobytes() for column in self.columns.values())

    @classmethod
    def from_bytes(cls, mode: Mode, places: int, names: Sequence[str], stored: bytes) -> "RankingSnapshot":
        """Parse the output of `to_bytes` for this number of positions and these columns.

        Raises ValueError, KeyError.
        """
        at = places * _ID_BYTES
        chunk_ids, columns = stored[:at], dict[str, _Column]()
        for name in names:
            columns[name] = np.frombuffer(stored, dtype=_DTYPES[name], count=places, offset=at)
            at += columns[name].nbytes
        if at != len(stored):
            raise ValueError(f"{places} places of {names} take {at} bytes, not {len(stored)}.")
        return cls(method=mode, chunk_ids=chunk_ids, columns=columns)

    def _detail(self, position: int) -> RetrievalDetail:
        values = {
            name: _decode_number(name, column[position].item()) for name, column in self.columns.items()
        }
        return RetrievalDetail(method=self.method, **values)


def _pack_ids(chunk_ids: Iterable[str]) -> bytes:
    return bytes.fromhex("".join(chunk_ids))


def _build_columns(values: Mapping[str, Sequence[float] | _Column]) -> dict[str, _Column]:
    columns = {name: np.array(values[name], dtype=type_) for name, type_ in _DTYPES.items() if name in values}
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


def _decode_number(name: str, number: float) -> Any:
    if name == "tier":
        return TIERS[int(number)]
    is_absent = np.isnan(number) if _DTYPES[name] == "<f8" else number == 0
    return None if is_absent else number
