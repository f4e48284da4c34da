"""What was found, packed within a budget and written out with citations."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from search.access.scope import Scope
from search.context.budget import counting
from search.context.candidates import Found
from search.context.overview import outline_files
from search.context.request import Budget, ContextRequest, ResponseMode
from search.context.text_format import SEPARATOR, block_text
from search.context.texts import SegmentTexts
from search.context.types import BudgetUse, Overview, PackedDocument, PackedText
from search.models import Chunk
from search.retrieval.packing import PackedFile, Segment, pack
from search.retrieval.query.filters import TrustLevel

#: What of a budget an overview may take, so that text follows it.
OVERVIEW_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A pack's overview and files, and what they take of the budget."""

    overview: Overview | None
    files: tuple[PackedDocument, ...]
    use: BudgetUse

    @property
    def chunk_count(self) -> int:
        """Return how many chunks are in it."""
        return sum(len(segment.chunks) for file in self.files for segment in file.segments)


def write_found(scope: Scope, found: Found, request: ContextRequest) -> Written:
    """Write what was found, the overview first where one is asked for, within the request's budget."""
    budget = request.budget
    size_of_text, counted_by = counting(budget.unit)
    overview = None
    if request.response_mode is ResponseMode.OVERVIEW:
        room = int(budget.total * OVERVIEW_SHARE)
        overview = outline_files(scope, found.files, size_of_text=size_of_text, room=room)
    used = 0 if overview is None else overview.size
    writing = _Writing(scope.workspace_id, found, size_of_text, is_framed=request.is_framed)
    files = writing.files(budget.total - used)
    used += sum(segment.size for file in files for segment in file.segments)
    use = BudgetUse(unit=budget.unit, total=budget.total, used=used, counted_by=counted_by)
    return Written(overview=overview, files=files, use=use)


def too_small(found: Found, written: Written, budget: Budget) -> tuple[str, ...]:
    """Return what to say of a budget that none of what was found fits into."""
    is_listed = written.overview is not None and written.overview.files
    if written.files or is_listed or not found.reached:
        return ()
    return (f"Nothing that was found fits into {budget.total} {budget.unit}; ask with a larger budget.",)


class _Writing:
    """Packs chunks into files and writes these out: their texts, and where each came from."""

    def __init__(
        self, workspace_id: uuid.UUID, found: Found, size_of_text: Callable[[str], int], *, is_framed: bool
    ) -> None:
        self._found = found
        self._reached = {each.chunk_id: each for each in found.reached}
        self._texts = SegmentTexts(workspace_id, found.chunks)
        self._size_of_text = size_of_text
        self._is_framed = is_framed

    def files(self, budget: int) -> tuple[PackedDocument, ...]:
        """Return what fits into `budget`, best file first."""
        packed = pack(
            [self._texts.passage(each) for each in self._found.reached],
            size_of=self._size,
            budget=budget,
            is_blank=self._texts.is_blank,
        )
        return tuple(self._file(each) for each in packed)

    def _size(self, segment: Segment) -> int:
        text = self._texts.text(segment)
        if self._is_framed:
            chunk = self._first_chunk([segment])
            document = chunk.document
            place = (document.source.key, document.version.tag or None, chunk.language or None)
            text = block_text(segment.citation, text, *place) + SEPARATOR
        return self._size_of_text(text)

    def _first_chunk(self, segments: Sequence[Segment]) -> Chunk:
        return self._found.chunks[segments[0].passages[0].chunk_id]

    def _file(self, packed: PackedFile) -> PackedDocument:
        chunk = self._first_chunk(packed.segments)
        document = chunk.document
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
        chunks = tuple(self._reached[passage.chunk_id] for passage in segment.passages)
        best = max(chunks, key=lambda each: (each.score, each.reached_by == "hit"))
        return PackedText(
            text=self._texts.text(segment),
            verbatim=self._texts.is_verbatim(segment),
            code_lang=self._first_chunk([segment]).language or None,
            citation=segment.citation,
            score=segment.score,
            reached_by=best.reached_by,
            size=self._size(segment),
            chunks=chunks,
        )
