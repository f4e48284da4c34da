"""Reading order of a page whose lines were set across its columns.

A page keeps the order in which it was set, unless its lines alternate between columns of prose. A gutter is
where many segments of text begin at the same place and none crosses it (after Breuel, "Two Geometric
Algorithms for Layout Analysis", 2002). Columns of prose differ from those of a table in that their lines are
broken: the first word of a line would not fit at the end of the one above.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from statistics import median
from typing import Final

from ingest.parsers.pdf.types import Segment

#: segments that begin at one place, and lines of each column
MIN_LINES: Final = 3
#: switches from one side to the other, for each line of the shorter one; cells of several lines have fewer
SWITCHES: Final = 1.3
#: share of the text on the left of a gutter that belongs to the column there
COLUMN_SHARE: Final = 0.75
#: distance in points up to which left edges are one
SAME_EDGE: Final = 2.5
#: indent of a paragraph in heights of a line
MAX_INDENT: Final = 3.0
#: blank space over all columns, in heights of a line, that ends them (a figure across)
WIDE_BLANK: Final = 4.0
#: shares of the lines of prose that are broken where the next word doesn't fit, and begin in lower case
BROKEN_SHARE, LOWER_SHARE = 0.5, 0.2
#: share of a column's width by which lines differ that are broken after a number of characters, and width of
#: a space in heights of a line
RAGGED, SPACE = 0.12, 0.25
#: share of letters among its characters
LETTER_SHARE = 0.6
#: characters of most lines of prose, and words where its script divides them
MIN_CHARS, MIN_WORDS = 8, 2.5
#: heights of a line by which a line may be above the one before it, where they alternate between columns
MAX_RISE = 3.0
#: left edges that are tried, and columns within columns
MAX_EDGES, MAX_DEPTH = 16, 5
#: larger pages keep their order
MAX_SEGMENTS: Final = 5_000


def reading_order(segments: Sequence[Segment]) -> Iterator[list[Segment]]:
    """Yield the lines of a page in reading order, each as its segments.

    Args:
        segments: in the order in which they were set.
    """
    for run in _downward_runs(segments):
        ordered = run if len(run) > MAX_SEGMENTS else _order(run, 0)
        for _, row in groupby(ordered, key=lambda segment: segment.line):
            yield list(row)


def _downward_runs(segments: Sequence[Segment]) -> Iterator[list[Segment]]:
    """Yield the runs of segments between those that were set far above the one before, as a column is."""
    run: list[Segment] = []
    for segment in segments:
        if run and segment.bottom > run[-1].bottom + MAX_RISE * segment.height:
            yield run
            run = []
        run.append(segment)
    if run:
        yield run


def _order(segments: Sequence[Segment], depth: int) -> Sequence[Segment]:
    # Whether segments stand beside or above the one that was set before them.
    beside = (other.bottom > one.bottom - one.height / 2 for one, other in pairwise(segments))
    if depth >= MAX_DEPTH or sum(beside) < MIN_LINES:
        return segments
    for edge in _left_edges(segments):
        bands = list(_bands(segments, edge))
        if any(_is_columns(band, edge) for band in bands):
            return [
                segment
                for band in bands
                for side in (_sides(band, edge) if _is_columns(band, edge, is_known=True) else [band])
                for segment in _order(side, depth + 1)
            ]
    return segments


def _left_edges(segments: Sequence[Segment]) -> list[float]:
    """Return the places at which several segments begin, from left to right."""
    edges: list[list[float]] = []
    for left in sorted(segment.left for segment in segments):
        if edges and left - edges[-1][0] <= SAME_EDGE:
            edges[-1].append(left)
        else:
            edges.append([left])
    common = sorted((edge for edge in edges if len(edge) >= MIN_LINES), key=len, reverse=True)
    return sorted(edge[0] for edge in common[:MAX_EDGES])


def _bands(segments: Sequence[Segment], edge: float) -> Iterator[list[Segment]]:
    """Yield the segments from top to bottom, cut where one crosses the edge, and at wide blanks.

    Each band is in the order in which it was set.
    """
    order = {id(segment): index for index, segment in enumerate(segments)}
    height = median(segment.height for segment in segments)
    band: list[Segment] = []
    is_crossing, lowest = False, 0.0
    for segment in sorted(segments, key=lambda segment: -(segment.top + segment.bottom)):
        crosses = segment.left < edge - SAME_EDGE and segment.right > edge + 1
        if band and (crosses != is_crossing or segment.top < lowest - WIDE_BLANK * height):
            yield sorted(band, key=lambda segment: order[id(segment)])
            band = []
        lowest = min(lowest, segment.bottom) if band else segment.bottom
        is_crossing = crosses
        band.append(segment)
    if band:
        yield sorted(band, key=lambda segment: order[id(segment)])


def _sides(band: Sequence[Segment], edge: float) -> tuple[list[Segment], list[Segment]]:
    left = [segment for segment in band if segment.left < edge - SAME_EDGE]
    right = [segment for segment in band if segment.left >= edge - SAME_EDGE]
    return left, right


def _is_columns(band: Sequence[Segment], edge: float, *, is_known: bool = False) -> bool:
    """Return whether the band has columns of prose on both sides of the edge, between which it alternates.

    A few lines are enough where the edge is known to be that of a column.
    """
    left, right = _sides(band, edge)
    fewer = min(len(left), len(right))
    if not fewer or any(segment.right > edge + 1 for segment in left):
        return False
    if is_known and fewer < MIN_LINES:
        return all(len(segment.text) >= MIN_CHARS for segment in band)
    is_right = [segment.left >= edge - SAME_EDGE for segment in band]
    switches = sum(one != other for one, other in pairwise(is_right))
    if fewer < MIN_LINES or switches < SWITCHES * fewer:
        return False
    column = _column(left)
    return len(column) >= COLUMN_SHARE * len(left) and _is_prose(column) and _is_prose(_column(right))


def _column(side: Sequence[Segment]) -> list[Segment]:
    """Return the lines from top to bottom that begin where most of the side's do, or are indented."""
    edges = _left_edges(side)
    first = edges[0] if edges else min(segment.left for segment in side)
    height = median(segment.height for segment in side)
    inside = [seg for seg in side if first - SAME_EDGE <= seg.left <= first + MAX_INDENT * height]
    return sorted(inside, key=lambda segment: -segment.top)


def _is_prose(column: Sequence[Segment]) -> bool:
    if len(column) < MIN_LINES or median(len(segment.text) for segment in column) < MIN_CHARS:
        return False
    letters = [character for segment in column for character in segment.text if character.isalpha()]
    if len(letters) < LETTER_SHARE * sum(len(segment.text) for segment in column):
        return False
    following = column[1:]
    has_case = any(letter.islower() or letter.isupper() for letter in letters)
    if has_case:
        lower = sum(segment.text[:1].islower() for segment in following)
        words = median(segment.text.count(" ") + 1 for segment in column)
        if lower < LOWER_SHARE * len(following) or words < MIN_WORDS:
            return False
    edge = max(segment.right for segment in column)
    full = edge - RAGGED * (edge - min(segment.left for segment in column))
    broken = sum(
        segment.right + (below.first_width + SPACE * below.height if has_case else below.height) > full
        for segment, below in pairwise(column)
    )
    return broken >= BROKEN_SHARE * len(following)
