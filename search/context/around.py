"""What stands around and beside the hits in their own documents."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import Final

from django.db.models import Q

from search.access.scope import Scope
from search.context.chunk_queries import standing_chunks
from search.models import Chunk
from search.retrieval.expansion import Follow

#: So many chunks to each side of a hit are looked at, and so many under its breadcrumb parent are taken.
REACH: Final = 20
MAX_SIBLINGS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spot:
    """Where a chunk stands in its document."""

    chunk_id: str
    document_id: int
    ordinal: int
    heading_path: tuple[str, ...]

    def steps_to(self, other: "_Spot") -> int:
        return abs(other.ordinal - self.ordinal)


class Around:
    """The chunks near the hits, read when they are first asked for, in one query."""

    def __init__(self, scope: Scope, hits: Iterable[Chunk]) -> None:
        self._scope = scope
        self._hits = {hit.chunk_id.hex: _spot_of(hit) for hit in hits}

    def neighbours(self, steps: int) -> Follow:
        """Return what leads up to `steps` chunks, 20 at most, to each side in the same document."""

        def follow(chunk_ids: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
            return {
                hit.chunk_id: {
                    spot.chunk_id: hit.steps_to(spot)
                    for spot in self._near(hit)
                    if hit.steps_to(spot) <= steps
                }
                for hit in self._known(chunk_ids)
            }

        return follow

    def siblings(self) -> Follow:
        """Return what leads to the nearest eight others under the same breadcrumb parent, one step each."""

        def follow(chunk_ids: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
            return {
                hit.chunk_id: {spot.chunk_id: 1 for spot in self._beside(hit)}
                for hit in self._known(chunk_ids)
            }

        return follow

    def _known(self, chunk_ids: Iterable[str]) -> Iterator[_Spot]:
        return (self._hits[chunk_id] for chunk_id in chunk_ids if chunk_id in self._hits)

    def _near(self, hit: _Spot) -> list[_Spot]:
        return [spot for spot in self._spots[hit.document_id] if 0 < hit.steps_to(spot) <= REACH]

    def _beside(self, hit: _Spot) -> list[_Spot]:
        """Beside a method stand its class's others; beside code in no unit, nothing."""
        parent, depth = hit.heading_path[:-1], len(hit.heading_path)
        under = [
            spot
            for spot in self._near(hit)
            if depth and len(spot.heading_path) == depth and spot.heading_path[:-1] == parent
        ]
        return sorted(under, key=lambda spot: (hit.steps_to(spot), spot.ordinal))[:MAX_SIBLINGS]

    @cached_property
    def _spots(self) -> Mapping[int, Sequence[_Spot]]:
        spots: defaultdict[int, list[_Spot]] = defaultdict(list)
        windows = [
            Q(document=hit.document_id, ordinal__range=(hit.ordinal - REACH, hit.ordinal + REACH))
            for hit in self._hits.values()
        ]
        if windows:
            near = standing_chunks(self._scope).filter(reduce(or_, windows))
            for chunk in near.only("chunk_id", "document_id", "ordinal", "heading_path"):
                spots[chunk.document_id].append(_spot_of(chunk))
        return spots


def _spot_of(chunk: Chunk) -> _Spot:
    return _Spot(
        chunk_id=chunk.chunk_id.hex,
        document_id=chunk.document_id,
        ordinal=chunk.ordinal,
        heading_path=tuple(chunk.heading_path),
    )
