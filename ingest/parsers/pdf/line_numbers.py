"""Numbers of lines at the margin of drafts, pleadings and listings."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import attrgetter
from statistics import median
from typing import Final

from ingest.parsers.pdf.columns import LOWER_SHARE, SAME_EDGE
from ingest.parsers.pdf.paragraphs import CLAUSE_END
from ingest.parsers.pdf.types import Segment

#: numbers of a column, what they count by, and digits of one
MIN_NUMBERS, STEPS, MAX_DIGITS = 4, (1, 5, 10), 5
#: words of half of the lines
MIN_WORDS: Final = 2
#: share of lines beside them that may have several cells, as rows of a table do
CELL_SHARE: Final = 0.3


def without_line_numbers(segments: Sequence[Segment], *, is_numbered: bool = False) -> Sequence[Segment]:
    """Return the segments of a page without a column of line numbers at its left or right margin.

    Items of a list and rows of a table may be numbered, too. Unlike them, numbered lines begin in lower case
    where they go on with a sentence.

    Args:
        segments: in the order in which they were set.
        is_numbered: the lines of the page before are, so that a few numbers are enough.
    """
    numbers = [each for each in segments if each.text.isdecimal() and len(each.text) <= MAX_DIGITS]
    if not numbers or (len(numbers) < MIN_NUMBERS and not is_numbered):
        return segments
    column = max(_columns(numbers), key=len)
    numbered = set(map(id, column))
    others = [each for each in segments if id(each) not in numbered]
    return others if _is_numbering(column, others, is_numbered=is_numbered) else segments


def _columns(numbers: Sequence[Segment]) -> Iterator[list[Segment]]:
    """Yield the longest run of numbers that count lines downwards, for each edge on which some are flush."""
    for edge in (attrgetter("right"), attrgetter("left")):
        flush: list[Segment] = []
        for each in sorted(numbers, key=edge):
            if flush and edge(each) - edge(flush[0]) > SAME_EDGE:
                yield _longest_count(flush)
                flush = []
            flush.append(each)
        yield _longest_count(flush)


def _longest_count(flush: Sequence[Segment]) -> list[Segment]:
    longest: list[Segment] = []
    run: list[Segment] = []
    step = 0
    for each in sorted(flush, key=lambda number: -number.top):
        added = int(each.text) - int(run[-1].text) if run else 0
        if not run or added not in STEPS or (len(run) > 1 and added != step):
            run = run[-1:] if added in STEPS else []
        step = added
        run.append(each)
        longest = max(longest, run, key=len)
    return list(longest)


def _is_numbering(column: Sequence[Segment], others: Sequence[Segment], *, is_numbered: bool) -> bool:
    """Return whether the lines beside the column go on in lower case, as sentences and code do."""
    left, right = min(each.left for each in column), max(each.right for each in column)
    beside = [each for each in others if column[-1].bottom < each.top and each.bottom < column[0].top]
    if any(each.left <= right for each in beside) and any(each.right >= left for each in beside):
        return False  # not at a margin
    if is_numbered or len(column) < MIN_NUMBERS or len(beside) < MIN_NUMBERS:
        return is_numbered
    beside.sort(key=lambda each: -each.top)
    pairs = list(pairwise(beside))
    cells = sum(other.top > one.top - one.height / 2 for one, other in pairs)
    lower = sum(other.text[0].islower() and not CLAUSE_END.search(one.text) for one, other in pairs)
    is_list = lower == len(pairs) and beside[0].text[0].islower()
    is_short = median(each.text.count(" ") + 1 for each in beside) < MIN_WORDS
    return (
        lower >= LOWER_SHARE * len(pairs) and cells <= CELL_SHARE * len(pairs) and not (is_list or is_short)
    )
