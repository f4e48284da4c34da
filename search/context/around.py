"""Neighbours and siblings of hits within their own documents."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import Final

from django.db.models import Q

from search.access.predicate import chunks_in_scope
from search.access.scope import SearchScope
from search.models import Chunk
from search.retrieval.expansion import Follow

#: Number of chunks that are read to each side of a hit, and the most siblings under its breadcrumb parent.
REACH: Final = 20
MAX_SIBLINGS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChunkPosition:
    """A chunk's position in its document."""

    chunk_id: str
    document_id: int
    ordinal: int
    heading_path: tuple[str, ...]

    def distance_to(self, other: "_ChunkPosition") -> int:
        return abs(other.ordinal - self.ordinal)


class HitNeighbourhood:
    """The chunks near the hits, read lazily in one query."""

    def __init__(self, scope: SearchScope, hits: Iterable[Chunk]) -> None:
        self._scope = scope
        self._hits = {hit.chunk_id.hex: _position_of(hit) for hit in hits}

    def neighbours(self, steps: int) -> Follow:
        """Return the link from hits to the `steps` (20 at most) chunks to each side in the same document."""

        def follow(chunk_ids: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
            return {
                hit.chunk_id: {
                    position.chunk_id: hit.distance_to(position)
                    for position in self._find_nearby(hit)
                    if hit.distance_to(position) <= steps
                }
                for hit in self._find_hits(chunk_ids)
            }

        return follow

    def siblings(self) -> Follow:
        """Return the link from hits to the nearest eight under the same breadcrumb parent, one step each."""

        def follow(chunk_ids: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
            return {
                hit.chunk_id: {position.chunk_id: 1 for position in self._find_siblings(hit)}
                for hit in self._find_hits(chunk_ids)
            }

        return follow

    def _find_hits(self, chunk_ids: Iterable[str]) -> Iterator[_ChunkPosition]:
        return (self._hits[chunk_id] for chunk_id in chunk_ids if chunk_id in self._hits)

    def _find_nearby(self, hit: _ChunkPosition) -> list[_ChunkPosition]:
        return [
            position
            for position in self._positions[hit.document_id]
            if 0 < hit.distance_to(position) <= REACH
        ]

    def _find_siblings(self, hit: _ChunkPosition) -> list[_ChunkPosition]:
        """Return the hit's siblings: a method's are the others of its class; code in no unit has none."""
        parent, depth = hit.heading_path[:-1], len(hit.heading_path)
        siblings = [
            position
            for position in self._find_nearby(hit)
            if depth and len(position.heading_path) == depth and position.heading_path[:-1] == parent
        ]
        return sorted(siblings, key=lambda position: (hit.distance_to(position), position.ordinal))[
            :MAX_SIBLINGS
        ]

    @cached_property
    def _positions(self) -> Mapping[int, Sequence[_ChunkPosition]]:
        positions: defaultdict[int, list[_ChunkPosition]] = defaultdict(list)
        windows = [
            Q(document=hit.document_id, ordinal__range=(hit.ordinal - REACH, hit.ordinal + REACH))
            for hit in self._hits.values()
        ]
        if windows:
            near = chunks_in_scope(self._scope).filter(reduce(or_, windows))
            for chunk in near.only("chunk_id", "document_id", "ordinal", "heading_path"):
                positions[chunk.document_id].append(_position_of(chunk))
        return positions


def _position_of(chunk: Chunk) -> _ChunkPosition:
    return _ChunkPosition(
        chunk_id=chunk.chunk_id.hex,
        document_id=chunk.document_id,
        ordinal=chunk.ordinal,
        heading_path=tuple(chunk.heading_path),
    )
