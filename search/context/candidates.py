"""From hits to what a pack may hold: the hits themselves, and what stands around them, with their rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from search.access.scope import Scope
from search.context.around import Around
from search.context.chunk_queries import read_chunks
from search.context.imported import imports_from
from search.context.overview import FoundFile
from search.context.request import Surroundings
from search.models import Chunk
from search.retrieval.expansion import (
    IMPORT_FACTOR,
    NEIGHBOUR_FACTOR,
    SIBLING_FACTOR,
    Expansion,
    Reached,
    expand,
)
from search.retrieval.fusion.document_cap import TOP_M

#: Hits that lead to what surrounds them; by file there are many, and the others' places are worth more.
LEADING: Final = TOP_M
LEADING_BY_FILE: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Hits and what was reached from them, best first, with their rows."""

    reached: Sequence[Reached]
    chunks: Mapping[str, Chunk]

    @property
    def files(self) -> list[FoundFile]:
        """Return the files, best first, each with the headings of its hits."""
        by_document: dict[int, list[Reached]] = {}
        for each in self.reached:
            by_document.setdefault(self.chunks[each.chunk_id].document_id, []).append(each)
        return [self._file(found) for found in by_document.values()]

    def _file(self, found: Sequence[Reached]) -> FoundFile:
        hits = [self.chunks[each.chunk_id] for each in found if each.reached_by == "hit"]
        return FoundFile(
            chunk=self.chunks[found[0].chunk_id],
            score=found[0].score,
            hit_headings=frozenset(tuple(hit.heading_path) for hit in hits),
        )


def found_around(
    scope: Scope, hits: Sequence[Reached], surroundings: Surroundings, *, leading: int = LEADING
) -> Found:
    """Return those of `hits`, best first, that stand, and what surrounds the first `leading` of them."""
    chunks = read_chunks(scope, [hit.chunk_id for hit in hits])
    standing = [hit for hit in hits if hit.chunk_id in chunks]
    leaders = {hit.chunk_id: chunks[hit.chunk_id] for hit in standing[:leading]}
    reached = expand(standing, _ways(scope, leaders, surroundings))
    chunks |= read_chunks(scope, [each.chunk_id for each in reached if each.chunk_id not in chunks])
    return Found(reached=[each for each in reached if each.chunk_id in chunks], chunks=chunks)


def _ways(scope: Scope, hits: Mapping[str, Chunk], surroundings: Surroundings) -> Iterator[Expansion]:
    around = Around(scope, hits.values())
    if surroundings.neighbours:
        follow = around.neighbours(surroundings.neighbours)
        yield Expansion(reached_by="neighbour", factor=NEIGHBOUR_FACTOR, follow=follow)
    if surroundings.siblings:
        yield Expansion(reached_by="sibling", factor=SIBLING_FACTOR, follow=around.siblings())
    if surroundings.imports:
        follow = imports_from(scope, hits.values())
        yield Expansion(reached_by="import", factor=IMPORT_FACTOR, follow=follow)
