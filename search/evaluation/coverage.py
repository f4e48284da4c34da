"""Coverage of judged places by the citations of hits, down to the lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from search.evaluation.judged import DocumentName, Qrel
from search.retrieval.citation import Citation

# Number of first hits that count.
_MAX_HITS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedHit:
    """The document and place that a hit cites."""

    document: DocumentName
    citation: Citation


def citation_coverage(qrels: Sequence[Qrel], cited: Sequence[CitedHit]) -> float | None:
    """Return the share of the relevant places that the first 10 of `cited` cite, in [0, 1].

    A place is covered by a citation of its document that overlaps it, a whole document by any citation of it.
    None when nothing is relevant.
    """
    relevant = [qrel for qrel in qrels if qrel.grade > 0]
    if not relevant:
        return None
    first = cited[:_MAX_HITS]
    return sum(any(_covers(each, qrel) for each in first) for qrel in relevant) / len(relevant)


def matches_document(judged: DocumentName, found: DocumentName) -> bool:
    """Return whether a judgement of `judged` applies to `found`, whose source is known."""
    same = (judged.path, judged.version) == (found.path, found.version)
    return same and judged.source in (None, found.source)


def overlaps(one: Citation, other: Citation) -> bool:
    """Return whether two places of one document share lines, a page, an area or a moment."""
    if "page" in (one.kind, other.kind):
        return one.page is not None and one.page == other.page
    if one.kind != other.kind:
        return False
    if one.kind == "line":
        return _ranges_overlap(one.start, one.end, other.start, other.end)
    if one.kind == "time":
        return _ranges_overlap(one.start_s, one.end_s, other.start_s, other.end_s)
    return one.page == other.page and _areas_overlap(one, other)


def _covers(cited: CitedHit, qrel: Qrel) -> bool:
    place = qrel.place
    return matches_document(qrel.document, cited.document) and (
        place is None or overlaps(place, cited.citation)
    )


def _ranges_overlap(
    start: float | None, end: float | None, other_start: float | None, other_end: float | None
) -> bool:
    if start is None or end is None or other_start is None or other_end is None:
        return False
    return start <= other_end and other_start <= end


def _areas_overlap(one: Citation, other: Citation) -> bool:
    (x, y, w, h), (x2, y2, w2, h2) = ((c.x or 0, c.y or 0, c.w or 0, c.h or 0) for c in (one, other))
    return x < x2 + w2 and x2 < x + w and y < y2 + h2 and y2 < y + h
