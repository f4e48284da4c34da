"""Neighbours and siblings of hits within their own documents."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
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


class HitNeighbourhood:
    """The chunks near the hits, read lazily in one query."""

    def __init__(self, scope: SearchScope, hits: Iterable[Chunk]) -> None:
        self._scope = scope
        self._hits = {hit.chunk_id.hex: hit for hit in hits}

    def neighbours(self, steps: int) -> Follow:
        """Return the link from hits to the `steps` (20 at most) chunks to each side in the same document."""

        def follow(chunk_ids: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
            return {
                hit.chunk_id.hex: {
                    chunk.chunk_id.hex: _distance(hit, chunk)
                    for chunk in self._find_nearby(hit)
                    if _distance(hit, chunk) <= steps
                }
                for hit in self._find_hits(chunk_ids)
            }

        return follow

    def siblings(self) -> Follow:
        """Return the link from hits to the nearest eight under the same breadcrumb parent, one step each."""

        def follow(chunk_ids: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
            return {
                hit.chunk_id.hex: {chunk.chunk_id.hex: 1 for chunk in self._find_siblings(hit)}
                for hit in self._find_hits(chunk_ids)
            }

        return follow

    def _find_hits(self, chunk_ids: Iterable[str]) -> Iterator[Chunk]:
        return (self._hits[chunk_id] for chunk_id in chunk_ids if chunk_id in self._hits)

    def _find_nearby(self, hit: Chunk) -> list[Chunk]:
        return [chunk for chunk in self._chunks[hit.document_id] if 0 < _distance(hit, chunk) <= REACH]

    def _find_siblings(self, hit: Chunk) -> list[Chunk]:
        """Return the hit's siblings: a method's are the others of its class; code in no unit has none."""
        parent, depth = hit.heading_path[:-1], len(hit.heading_path)
        siblings = [
            chunk
            for chunk in self._find_nearby(hit)
            if depth and len(chunk.heading_path) == depth and chunk.heading_path[:-1] == parent
        ]
        return sorted(siblings, key=lambda chunk: (_distance(hit, chunk), chunk.ordinal))[:MAX_SIBLINGS]

    @cached_property
    def _chunks(self) -> Mapping[int, Sequence[Chunk]]:
        found: defaultdict[int, list[Chunk]] = defaultdict(list)
        windows = [
            Q(document=hit.document_id, ordinal__range=(hit.ordinal - REACH, hit.ordinal + REACH))
            for hit in self._hits.values()
        ]
        if windows:
            near = chunks_in_scope(self._scope).filter(reduce(or_, windows))
            for chunk in near.only("chunk_id", "document_id", "ordinal", "heading_path"):
                found[chunk.document_id].append(chunk)
        return found


def _distance(hit: Chunk, chunk: Chunk) -> int:
    """Return the distance of two chunks of the same document."""
    return abs(chunk.ordinal - hit.ordinal)
