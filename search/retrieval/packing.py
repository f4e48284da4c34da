"""Hits packed for reading: by file, overlapping passages merged, within a budget."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from search.retrieval.citation import Citation

MAX_SEGMENTS_PER_FILE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A cited stretch of a document with the best score of the hits in it."""

    doc_id: str
    citation: Citation
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedFile:
    """The segments of one document, in file order, and the best of their scores."""

    doc_id: str
    path: str
    score: float
    segments: tuple[Segment, ...]


def pack(hits: Iterable[Segment], *, size_of: Callable[[Segment], int], budget: int) -> list[PackedFile]:
    """Pack hits into files, best score first, ties by path and id.

    Overlapping or touching passages become one segment. A file keeps its three best segments; files in
    order, and in each its best segment first, take from `budget` what `size_of` says (characters or tokens,
    as the caller counts), and what no longer fits is left out.
    """
    by_document: defaultdict[str, list[Segment]] = defaultdict(list)
    for hit in hits:
        by_document[hit.doc_id].append(hit)
    best = [sorted(merge(found), key=_best_first)[:MAX_SEGMENTS_PER_FILE] for found in by_document.values()]
    best.sort(key=lambda segments: (-segments[0].score, segments[0].citation.path, segments[0].doc_id))
    packed: list[PackedFile] = []
    for segments in best:
        fitting, budget = _within(segments, size_of, budget)
        if fitting:
            packed.append(_file(fitting))
    return packed


def merge(hits: Sequence[Segment]) -> list[Segment]:
    """Merge the overlapping and touching passages of one document, in file order.

    Lines touch when they follow each other, times when one ends where the next begins; of pages and regions
    only the same one twice is merged. A merged segment has the best score of its parts and the section of
    its first.
    """
    merged: list[Segment] = []
    for hit in sorted(hits, key=_file_order):
        joined = _joined(merged[-1].citation, hit.citation) if merged else None
        if joined is None:
            merged.append(hit)
        else:
            merged[-1] = replace(merged[-1], citation=joined, score=max(merged[-1].score, hit.score))
    return merged


def _joined(first: Citation, second: Citation) -> Citation | None:
    if first.end is not None and second.start is not None and second.end is not None:
        return replace(first, end=max(first.end, second.end)) if second.start <= first.end + 1 else None
    if first.end_s is not None and second.start_s is not None and second.end_s is not None:
        return replace(first, end_s=max(first.end_s, second.end_s)) if second.start_s <= first.end_s else None
    return first if first.uri == second.uri else None


def _within(
    segments: Iterable[Segment], size_of: Callable[[Segment], int], budget: int
) -> tuple[list[Segment], int]:
    fitting: list[Segment] = []
    for segment in segments:
        size = size_of(segment)
        if size <= budget:
            fitting.append(segment)
            budget -= size
    return fitting, budget


def _file(segments: Sequence[Segment]) -> PackedFile:
    return PackedFile(
        doc_id=segments[0].doc_id,
        path=segments[0].citation.path,
        score=max(segment.score for segment in segments),
        segments=tuple(sorted(segments, key=_file_order)),
    )


def _best_first(segment: Segment) -> tuple[float, tuple[float, ...]]:
    return -segment.score, _file_order(segment)


def _file_order(segment: Segment) -> tuple[float, ...]:
    cited = segment.citation
    places = (
        cited.start,
        cited.end,
        cited.start_s,
        cited.end_s,
        cited.page,
        cited.y,
        cited.x,
        cited.w,
        cited.h,
    )
    return tuple(0 if place is None else place for place in places)
