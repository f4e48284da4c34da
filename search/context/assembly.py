"""Assembly of a context pack: expanded hits, packed within a budget, with texts and citations."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from search.access.scope import SearchScope
from search.context.budget import text_counter
from search.context.candidates import ExpandedHits
from search.context.overview import outline_files
from search.context.request import Budget, ContextRequest, ResponseMode
from search.context.text_format import SEPARATOR, block_text
from search.context.texts import SegmentTexts
from search.context.types import BudgetUse, Overview, PackedDocument, PackedText
from search.models import Chunk
from search.retrieval.expansion import ReachedChunk
from search.retrieval.packing import PackedFile, Segment, pack
from search.retrieval.query.filters import TrustLevel

#: Largest share of a budget for the overview, so that there is room for text.
OVERVIEW_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class PackContents:
    """A pack's overview and files, and their use of the budget."""

    overview: Overview | None
    files: tuple[PackedDocument, ...]
    use: BudgetUse

    @property
    def chunk_count(self) -> int:
        """Return the number of chunks in the pack."""
        return sum(len(segment.chunks) for file in self.files for segment in file.segments)


def assemble_pack(scope: SearchScope, found: ExpandedHits, request: ContextRequest) -> PackContents:
    """Pack the expanded hits, after the overview if one is requested, within the request's budget."""
    budget = request.budget
    size_of_text, counted_by = text_counter(budget.unit)
    overview = None
    if request.response_mode is ResponseMode.OVERVIEW:
        room = int(budget.total * OVERVIEW_SHARE)
        overview = outline_files(scope, found.files, size_of_text=size_of_text, room=room)
    used = 0 if overview is None else overview.size
    assembler = _PackAssembler(scope.workspace_id, found, size_of_text, is_framed=request.is_framed)
    files = assembler.pack_files(budget.total - used)
    used += sum(segment.size for file in files for segment in file.segments)
    use = BudgetUse(unit=budget.unit, total=budget.total, used=used, counted_by=counted_by)
    return PackContents(overview=overview, files=files, use=use)


def budget_warnings(found: ExpandedHits, contents: PackContents, budget: Budget) -> tuple[str, ...]:
    """Return a warning when hits were found and none fits the budget."""
    is_listed = contents.overview is not None and contents.overview.files
    if contents.files or is_listed or not found.reached:
        return ()
    return (f"Nothing that was found fits into {budget.total} {budget.unit}; ask with a larger budget.",)


class _PackAssembler:
    """Packer of chunks into files with their texts and origins."""

    def __init__(
        self,
        workspace_id: uuid.UUID,
        found: ExpandedHits,
        size_of_text: Callable[[str], int],
        *,
        is_framed: bool,
    ) -> None:
        self._found = found
        self._reached = {each.chunk_id: each for each in found.reached}
        self._texts = SegmentTexts(workspace_id, found.chunks)
        self._size_of_text = size_of_text
        self._is_framed = is_framed

    def pack_files(self, budget: int) -> tuple[PackedDocument, ...]:
        """Return the files whose segments fit `budget`, best file first."""
        packed = pack(
            [self._texts.passage(each) for each in self._found.reached if self._has_text(each)],
            size_of=self._size,
            budget=budget,
            is_blank=self._texts.is_blank,
        )
        return tuple(self._build_file(each) for each in packed)

    def _has_text(self, reached: ReachedChunk) -> bool:
        return self._found.chunks[reached.chunk_id].text != ""

    def _size(self, segment: Segment) -> int:
        text = self._texts.text(segment)
        if self._is_framed:
            chunk = self._first_chunk([segment])
            document = chunk.document
            origin = (document.source.key, document.version.tag or None, chunk.language or None)
            text = block_text(segment.citation, text, *origin) + SEPARATOR
        return self._size_of_text(text)

    def _first_chunk(self, segments: Sequence[Segment]) -> Chunk:
        return self._found.chunks[segments[0].passages[0].chunk_id]

    def _build_file(self, packed: PackedFile) -> PackedDocument:
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
            segments=tuple(self._build_segment(segment) for segment in packed.segments),
        )

    def _build_segment(self, segment: Segment) -> PackedText:
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
