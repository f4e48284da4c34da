"""Preference for the newest of several passages that say as much about the same subject."""

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from search.analysis import Analysis
from search.answers.answerability import WeightedWord, coverage
from search.answers.passages import Passage, terms_of

# The share of the shorter name's words that two documents on one subject have in common.
_SAME_SUBJECT: Final = 0.6
# A newer passage may cover this much less of the question: it words things its own way.
_TOLERANCE: Final = 0.1
# Documents that were uploaded together differ in seconds.
_LEAST_AGE: Final = timedelta(days=1)
_STATED: Final = re.compile(r"(?<!\d)((?:19|20)\d\d)(?:-(\d\d)(?:-(\d\d))?)?(?!\d)")
_NUMBER: Final = re.compile(r"\d+")


def leave_out_amended(
    passages: Sequence[Passage], words: Sequence[WeightedWord], analysis: Analysis
) -> list[Passage]:
    """Return the passages, best first, without those that a newer document amends; that comes in their place.

    One amends another that has a later version, else a later date in its name, else is later dated, if their
    names tell the same subject and it covers as much of the question.
    """
    shown: list[Passage] = []
    for passage in passages:
        latest = _find_latest(passage, passages, words, analysis)
        if latest not in shown:
            shown.append(latest)
    return shown


def _find_latest(
    passage: Passage, passages: Sequence[Passage], words: Sequence[WeightedWord], analysis: Analysis
) -> Passage:
    # Amendments may be amended, but by fewer documents than there are.
    for _ in passages:
        newer = next((each for each in passages if _amends(each, passage, words, analysis)), None)
        if newer is None:
            break
        passage = newer
    return passage


def _amends(newer: Passage, older: Passage, words: Sequence[WeightedWord], analysis: Analysis) -> bool:
    if newer.hit.doc_id == older.hit.doc_id or not _is_newer(newer, older):
        return False
    if not _shares_subject(newer, older, analysis):
        return False
    return coverage(words, [newer.terms]) >= coverage(words, [older.terms]) - _TOLERANCE


def _is_newer(one: Passage, other: Passage) -> bool:
    """Return whether a passage is newer than another: by version, by the date in its name, by its date."""
    for stated in (_version, _stated_date):
        mine, others = stated(one), stated(other)
        if mine and others and mine != others:
            return mine > others
    return one.dated_at - other.dated_at >= _LEAST_AGE


def _version(passage: Passage) -> tuple[int, ...]:
    return tuple(map(int, _NUMBER.findall(passage.hit.version or "")))


def _stated_date(passage: Passage) -> tuple[int, ...]:
    """Return year, month and day of the latest date in a passage's title, headings or path; () for none."""
    dates = _STATED.findall(f"{passage.origin.all_headings}\n{passage.origin.path}")
    return max((tuple(map(int, filter(None, each))) for each in dates), default=())


def _shares_subject(one: Passage, other: Passage, analysis: Analysis) -> bool:
    names = [
        {term for term in terms_of(each.origin.title, analysis) if not _NUMBER.search(term)}
        for each in (one, other)
    ]
    least = min(map(len, names))
    return least > 0 and len(names[0] & names[1]) >= _SAME_SUBJECT * least
