"""Assembly of a context pack: expanded hits, packed within a budget, with texts and citations."""

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import or_
from typing import Final

from django.db.models import Q

from search.access.predicate import chunks_in_scope
from search.access.scope import SearchScope
from search.context.budget import text_counter
from search.context.chunk_queries import DocumentLines, Range, read_chunks, read_document_lines
from search.context.imported import imports_from
from search.context.overview import SEPARATOR, HitFile, block_text, outline_files
from search.context.types import (
    Budget,
    BudgetUse,
    ContextRequest,
    Overview,
    PackedDocument,
    PackedText,
    ResponseMode,
    Surroundings,
)
from search.models import Chunk
from search.retrieval.citation import Citation
from search.retrieval.expansion import (
    IMPORT_FACTOR,
    NEIGHBOUR_FACTOR,
    SIBLING_FACTOR,
    Expansion,
    Follow,
    ReachedChunk,
    expand,
)
from search.retrieval.fusion.post_fusion import TOP_M
from search.retrieval.packing import PackedFile, Passage, Segment, pack
from search.retrieval.query.filters import TrustLevel

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


class SegmentTexts:
    """The texts of one pack's segments; each document's lines are read once."""

    def __init__(self, workspace_id: uuid.UUID, chunks: Mapping[str, Chunk]) -> None:
        self._chunks = chunks
        self._lines = _lines_of_documents(workspace_id, chunks)
        self._verbatim = {chunk_id for chunk_id, chunk in chunks.items() if self._matches_cited_lines(chunk)}

    def passage(self, reached: ReachedChunk) -> Passage:
        """Return the chunk as a passage; its citation includes the heading lines right above its text."""
        chunk = self._chunks[reached.chunk_id]
        citation = chunk.citation
        if reached.chunk_id in self._verbatim:
            citation = self._with_headings(chunk, citation)
        return Passage(
            chunk_id=reached.chunk_id,
            doc_id=chunk.document.doc_id.hex,
            citation=citation,
            score=reached.score,
            ordinal=chunk.ordinal,
        )

    def is_blank(self, doc_id: str, start: int, end: int) -> bool:
        """Return whether these lines of a document are blank; unknown lines are not."""
        return self._lines[doc_id].is_blank(start, end)

    def is_verbatim(self, segment: Segment) -> bool:
        """Return whether the segment's text is exactly the lines that it cites."""
        return self._cited_lines(segment) is not None

    def text(self, segment: Segment) -> str:
        """Return the cited lines, or the chunks' texts if it isn't cited by line or has too long a line."""
        lines = self._cited_lines(segment)
        if lines is not None:
            return lines
        return "\n".join(self._chunks[passage.chunk_id].text for passage in segment.passages)

    def _cited_lines(self, segment: Segment) -> str | None:
        cited = segment.citation
        are_lines = all(passage.chunk_id in self._verbatim for passage in segment.passages)
        if not are_lines or cited.start is None or cited.end is None:
            return None
        return self._lines[segment.doc_id].text(cited.start, cited.end)

    def _matches_cited_lines(self, chunk: Chunk) -> bool:
        cited = chunk.citation
        if cited.start is None or cited.end is None:
            return False
        text = self._lines[chunk.document.doc_id.hex].text(cited.start, cited.end)
        return text is not None and chunk.text in text

    def _with_headings(self, chunk: Chunk, citation: Citation) -> Citation:
        start = citation.start or 1
        lines = self._lines[chunk.document.doc_id.hex]
        for first, last in sorted(_line_ranges(chunk), reverse=True):
            if last < start and (last + 1 == start or lines.is_blank(last + 1, start - 1)):
                start = first
        return replace(citation, start=start)


def _line_ranges(chunk: Chunk) -> list[Range]:
    return [(span["start"], span["end"]) for span in chunk.source_spans if span.get("kind") == "line"]


def _lines_of_documents(workspace_id: uuid.UUID, chunks: Mapping[str, Chunk]) -> Mapping[str, DocumentLines]:
    ranges: defaultdict[tuple[str, str], list[Range]] = defaultdict(list)
    for chunk in chunks.values():
        if chunk.document.is_read_verbatim:
            ranges[chunk.document.doc_id.hex, chunk.document.content_hash] += _line_ranges(chunk)
    lines = {
        doc_id: read_document_lines(workspace_id, hash_, wanted)
        for (doc_id, hash_), wanted in ranges.items()
        if wanted
    }
    return defaultdict(lambda: DocumentLines({}), lines)


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
