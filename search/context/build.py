"""`build_context_pack(workspace, request)`: from an information request to packed, cited segments."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kebab.people.models import Workspace
from kebab.people.reader import Reader
from search.context.around import Around
from search.context.counting import counting
from search.context.imported import imports_from
from search.context.request import Budget, ContextRequest, Surroundings
from search.context.standing import read_chunks
from search.context.texts import SegmentTexts
from search.context.types import BudgetUse, ContextPack, CountedBy, PackedDocument, PackedText
from search.engine import milliseconds_since, scope_from, search_in
from search.models import Chunk
from search.retrieval.expansion import (
    IMPORT_FACTOR,
    NEIGHBOUR_FACTOR,
    SIBLING_FACTOR,
    Expansion,
    Reached,
    expand,
)
from search.retrieval.filters import TrustLevel
from search.retrieval.packing import PackedFile, Segment, pack
from search.retrieval.types import SearchHit
from search.scope import Scope


def build_context_pack(
    workspace: Workspace, reader: Reader, request: ContextRequest, *, min_seq: int | None = None
) -> ContextPack:
    """Search, expand the hits, pack what was found within the budget, and cite it.

    What surrounds the hits is read under the same workspace, rights and filters as they are. With `min_seq`
    it waits, within a limit, until this node shows that change. Raises InvalidQuery and InvalidFilter,
    NotSearchableYet, Workspace.DoesNotExist.
    """
    started = time.perf_counter()
    scope = scope_from(workspace, request.query.filters, reader, min_seq)
    result = search_in(workspace, scope, request.query, with_snippets=False)
    found = _expanded(scope, result.hits, request.surroundings)
    packed = _pack(workspace, found, request.budget)
    return ContextPack(
        information_request=request.query.text,
        technical_terms=request.technical_terms,
        mode=result.mode,
        index_version=result.index_version,
        seq=result.seq,
        lag=result.lag,
        took_ms=milliseconds_since(started),
        degraded=result.degraded,
        warnings=(*result.warnings, *_too_small(found, packed, request.budget)),
        rerank=result.rerank,
        budget=packed.use,
        left_out=len(found.reached) - packed.chunk_count,
        files=packed.files,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """Hits and what was reached from them, best first, with their rows."""

    reached: Sequence[Reached]
    chunks: Mapping[str, Chunk]


def _expanded(scope: Scope, hits: Sequence[SearchHit], surroundings: Surroundings) -> _Found:
    chunks = read_chunks(scope, [hit.chunk_id for hit in hits])
    standing = [Reached(chunk_id=hit.chunk_id, score=hit.score) for hit in hits if hit.chunk_id in chunks]
    reached = expand(standing, _ways(scope, chunks, surroundings))
    chunks |= read_chunks(scope, [each.chunk_id for each in reached if each.chunk_id not in chunks])
    return _Found(reached=[each for each in reached if each.chunk_id in chunks], chunks=chunks)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Packed:
    files: tuple[PackedDocument, ...]
    use: BudgetUse

    @property
    def chunk_count(self) -> int:
        return sum(len(segment.chunks) for file in self.files for segment in file.segments)


def _pack(workspace: Workspace, found: _Found, budget: Budget) -> _Packed:
    size_of_text, counted_by = counting(budget.unit)
    texts = SegmentTexts(workspace.pk, found.chunks)
    writing = _Writing(found, texts, size_of_text)
    packed = pack(
        [texts.passage(each) for each in found.reached],
        size_of=lambda segment: size_of_text(texts.text(segment)),
        budget=budget.total,
        is_blank=texts.is_blank,
    )
    files = tuple(writing.file(each) for each in packed)
    return _Packed(files=files, use=_use(budget, files, counted_by))


def _use(budget: Budget, files: Sequence[PackedDocument], counted_by: CountedBy) -> BudgetUse:
    used = sum(segment.size for file in files for segment in file.segments)
    return BudgetUse(unit=budget.unit, total=budget.total, used=used, counted_by=counted_by)


class _Writing:
    """Writes packed files out: their texts, and where each came from."""

    def __init__(self, found: _Found, texts: SegmentTexts, size_of_text: Callable[[str], int]) -> None:
        self._reached = {each.chunk_id: each for each in found.reached}
        self._chunks = found.chunks
        self._texts = texts
        self._size_of_text = size_of_text

    def file(self, packed: PackedFile) -> PackedDocument:
        document = self._chunks[packed.segments[0].passages[0].chunk_id].document
        return PackedDocument(
            doc_id=packed.doc_id,
            doc_path=packed.path,
            title=document.title,
            source=document.source.key,
            version=document.version.tag or None,
            lang=document.lang,
            tags=tuple(document.tags),
            trust_level=TrustLevel(document.trust_level),
            score=packed.score,
            segments=tuple(self._segment(segment) for segment in packed.segments),
        )

    def _segment(self, segment: Segment) -> PackedText:
        text = self._texts.text(segment)
        chunks = tuple(self._reached[passage.chunk_id] for passage in segment.passages)
        best = max(chunks, key=lambda each: (each.score, each.reached_by == "hit"))
        return PackedText(
            text=text,
            verbatim=self._texts.is_verbatim(segment),
            citation=segment.citation,
            score=segment.score,
            reached_by=best.reached_by,
            size=self._size_of_text(text),
            chunks=chunks,
        )


def _too_small(found: _Found, packed: _Packed, budget: Budget) -> tuple[str, ...]:
    if packed.files or not found.reached:
        return ()
    return (f"Nothing that was found fits into {budget.total} {budget.unit}; ask with a larger budget.",)
