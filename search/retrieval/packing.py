"""Packing of passages for reading: grouped by file, overlaps merged, within a budget."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from search.retrieval.citation import Citation

MAX_SEGMENTS_PER_FILE = 3

#: Returns whether all lines of a document from one number to another, both included, are blank.
IsBlank = Callable[[str, int, int], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A chunk to pack: its location and its score."""

    chunk_id: str
    doc_id: str
    citation: Citation
    #: In [0, 1].
    score: float
    #: Its position among the chunks of the document; orders chunks with the same citation.
    ordinal: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A cited stretch of a document: passages in file order, and the best of their scores."""

    doc_id: str
    citation: Citation
    score: float
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedFile:
    """The segments of one document, in file order, and the best of their scores."""

    doc_id: str
    path: str
    score: float
    segments: tuple[Segment, ...]


def nothing_is_blank(doc_id: str, start: int, end: int) -> bool:
    """Return False: treat every line as non-blank."""
    return False


def pack(
    passages: Iterable[Passage],
    *,
    size_of: Callable[[Segment], int],
    budget: int,
    is_blank: IsBlank = nothing_is_blank,
) -> list[PackedFile]:
    """Pack passages into files, best score first, ties by path and id.

    Overlapping or adjacent passages become one segment, and a file keeps its three best segments. Their
    passages are added best score first. One that would raise `size_of` of all segments (characters or
    tokens, as the caller counts) above `budget`, or give its file a fourth segment, is skipped and tried
    again after others were added.
    """
    by_document: defaultdict[str, list[Passage]] = defaultdict(list)
    for passage in passages:
        by_document[passage.doc_id].append(passage)
    kept = [
        passage
        for found in by_document.values()
        for segment in sorted(merge(found, is_blank), key=_segment_sort_key)[:MAX_SEGMENTS_PER_FILE]
        for passage in segment.passages
    ]
    packer = _BudgetPacker(size_of, budget, is_blank)
    packer.fill(sorted(kept, key=_passage_sort_key))
    return sorted(map(_build_file, packer.files), key=lambda file: (-file.score, file.path, file.doc_id))


def merge(passages: Iterable[Passage], is_blank: IsBlank = nothing_is_blank) -> list[Segment]:
    """Merge the overlapping and adjacent passages of one document, in file order.

    Lines are adjacent when no line or only blank lines lie between them, times when one ends where the next
    begins; pages and regions are merged only if they are the same. A segment has the best score of its
    passages and the section of its first.
    """
    merged: list[Segment] = []
    for passage in sorted(passages, key=_passage_file_order):
        joined = _merge_passage(merged[-1], passage, is_blank) if merged else None
        if joined is None:
            merged.append(_segment(passage))
        else:
            merged[-1] = joined
    return merged


def _segment(passage: Passage) -> Segment:
    return Segment(doc_id=passage.doc_id, citation=passage.citation, score=passage.score, passages=(passage,))


def _merge_passage(segment: Segment, passage: Passage, is_blank: IsBlank) -> Segment | None:
    citation = _merge_citation(segment, passage, is_blank)
    if citation is None:
        return None
    return replace(
        segment,
        citation=citation,
        score=max(segment.score, passage.score),
        passages=(*segment.passages, passage),
    )


def _merge_citation(segment: Segment, passage: Passage, is_blank: IsBlank) -> Citation | None:
    first, second = segment.citation, passage.citation
    if first.end is not None and second.start is not None and second.end is not None:
        touches = second.start <= first.end + 1 or is_blank(segment.doc_id, first.end + 1, second.start - 1)
        return replace(first, end=max(first.end, second.end)) if touches else None
    if first.end_s is not None and second.start_s is not None and second.end_s is not None:
        return replace(first, end_s=max(first.end_s, second.end_s)) if second.start_s <= first.end_s else None
    return first if first.uri == second.uri else None


class _BudgetPacker:
    """The segments added so far, by file, and the remaining budget."""

    def __init__(self, size_of: Callable[[Segment], int], budget: int, is_blank: IsBlank) -> None:
        self._size_of = size_of
        self._left = budget
        self._is_blank = is_blank
        self._files: dict[str, list[Segment]] = {}
        self._sizes: dict[tuple[str, ...], int] = {}

    @property
    def files(self) -> Iterator[Sequence[Segment]]:
        """Return the segments of each file, in file order."""
        return iter(self._files.values())

    def fill(self, passages: Sequence[Passage]) -> None:
        """Add the passages that fit, in order, until no more fit."""
        waiting = passages
        while waiting:
            skipped = [passage for passage in waiting if not self._add_if_fits(passage)]
            if len(skipped) == len(waiting):
                return
            waiting = skipped

    def _add_if_fits(self, passage: Passage) -> bool:
        before = self._files.get(passage.doc_id, [])
        after = merge([*(p for segment in before for p in segment.passages), passage], self._is_blank)
        more = self._size(after) - self._size(before)
        if len(after) > MAX_SEGMENTS_PER_FILE or more > self._left:
            return False
        self._left -= more
        self._files[passage.doc_id] = after
        return True

    def _size(self, segments: Iterable[Segment]) -> int:
        return sum(self._segment_size(segment) for segment in segments)

    def _segment_size(self, segment: Segment) -> int:
        key = tuple(passage.chunk_id for passage in segment.passages)
        if key not in self._sizes:
            self._sizes[key] = self._size_of(segment)
        return self._sizes[key]


def _build_file(segments: Sequence[Segment]) -> PackedFile:
    return PackedFile(
        doc_id=segments[0].doc_id,
        path=segments[0].citation.path,
        score=max(segment.score for segment in segments),
        segments=tuple(segments),
    )


def _segment_sort_key(segment: Segment) -> tuple[float, tuple[float, ...]]:
    return -segment.score, _citation_sort_key(segment.citation)


def _passage_sort_key(passage: Passage) -> tuple[object, ...]:
    return -passage.score, passage.citation.path, passage.doc_id, *_passage_file_order(passage)


def _passage_file_order(passage: Passage) -> tuple[tuple[float, ...], int, str]:
    return _citation_sort_key(passage.citation), passage.ordinal, passage.chunk_id


def _citation_sort_key(citation: Citation) -> tuple[float, ...]:
    positions = (
        citation.start,
        citation.end,
        citation.start_s,
        citation.end_s,
        citation.page,
        citation.y,
        citation.x,
        citation.w,
        citation.h,
    )
    return tuple(0 if position is None else position for position in positions)
