"""Candidates of a pack: the hits and the chunks reached from them, with their rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from search.access.scope import SearchScope
from search.context.around import HitNeighbourhood
from search.context.chunk_queries import read_chunks
from search.context.imported import imports_from
from search.context.overview import HitFile
from search.context.request import Surroundings
from search.models import Chunk
from search.retrieval.expansion import (
    IMPORT_FACTOR,
    NEIGHBOUR_FACTOR,
    SIBLING_FACTOR,
    Expansion,
    ReachedChunk,
    expand,
)
from search.retrieval.fusion.post_fusion import TOP_M

#: Number of first hits that are expanded. A request by file has many hits, which are worth more than
#: the surroundings of its later ones.
EXPANDED_HITS: Final = TOP_M
EXPANDED_HITS_BY_FILE: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandedHits:
    """Hits and the chunks reached from them, best first, with their rows."""

    reached: Sequence[ReachedChunk]
    chunks: Mapping[str, Chunk]

    @property
    def files(self) -> list[HitFile]:
        """Return the files, best first, each with the headings of its hits."""
        by_document: dict[int, list[ReachedChunk]] = {}
        for each in self.reached:
            by_document.setdefault(self.chunks[each.chunk_id].document_id, []).append(each)
        return [self._file(found) for found in by_document.values()]

    def _file(self, found: Sequence[ReachedChunk]) -> HitFile:
        hits = [self.chunks[each.chunk_id] for each in found if each.reached_by == "hit"]
        return HitFile(
            chunk=self.chunks[found[0].chunk_id],
            score=found[0].score,
            hit_headings=frozenset(tuple(hit.heading_path) for hit in hits),
        )


def expand_hits(
    scope: SearchScope,
    hits: Sequence[ReachedChunk],
    surroundings: Surroundings,
    *,
    leading: int = EXPANDED_HITS,
) -> ExpandedHits:
    """Return the still visible `hits` and the chunks around the first `leading` of them, best first."""
    chunks = read_chunks(scope, [hit.chunk_id for hit in hits])
    visible = [hit for hit in hits if hit.chunk_id in chunks]
    leaders = {hit.chunk_id: chunks[hit.chunk_id] for hit in visible[:leading]}
    reached = expand(visible, _expansions(scope, leaders, surroundings))
    chunks |= read_chunks(scope, [each.chunk_id for each in reached if each.chunk_id not in chunks])
    return ExpandedHits(reached=[each for each in reached if each.chunk_id in chunks], chunks=chunks)


def _expansions(
    scope: SearchScope, hits: Mapping[str, Chunk], surroundings: Surroundings
) -> Iterator[Expansion]:
    around = HitNeighbourhood(scope, hits.values())
    if surroundings.neighbours:
        follow = around.neighbours(surroundings.neighbours)
        yield Expansion(reached_by="neighbour", factor=NEIGHBOUR_FACTOR, follow=follow)
    if surroundings.siblings:
        yield Expansion(reached_by="sibling", factor=SIBLING_FACTOR, follow=around.siblings())
    if surroundings.imports:
        follow = imports_from(scope, hits.values())
        yield Expansion(reached_by="import", factor=IMPORT_FACTOR, follow=follow)
