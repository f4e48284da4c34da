"""Other orders of a list: by age, boosts, date or title, and with pinned documents first."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import PurePosixPath

from search.retrieval.fusion.ranking import RankedEntry
from search.retrieval.query.rules import Boost
from search.retrieval.query.titles import sort_key
from search.retrieval.types import Mode, RetrievalDetail, Sort


@dataclass(frozen=True, slots=True)
class SortKeys:
    """Values that order or boost the document of a hit."""

    title: str
    dated_at: datetime
    source: str
    path: str
    trust: str
    #: Whether the date is another one than that of indexing.
    is_dated: bool

    def place(self, order: Sort) -> tuple[bool, float | str]:
        """Return by what documents are sorted in an order other than that of relevance."""
        if order is Sort.TITLE:
            return False, sort_key(self.title or self.path)
        date = self.dated_at.timestamp()
        return not self.is_dated, date if order is Sort.DATE_ASC else -date

    def boosts(self, boosts: Iterable[Boost]) -> float:
        """Return the product of the factors that apply to the document."""
        type_ = PurePosixPath(self.path).suffix[1:].lower()
        values = {"source": self.source, "type": type_, "trust": self.trust}
        return math.prod(boost.factor for boost in boosts if values[boost.field] == boost.value)


def apply_boosts(
    candidates: Sequence[RankedEntry], keys: Mapping[str, SortKeys], boosts: Sequence[Boost]
) -> list[RankedEntry]:
    """Return the candidates with boosted scores, in their new order; related ones stay last.

    The scores are divided by the largest factor of any, if above 1, so that they stay below 1.
    """
    factors = [keys[candidate.chunk_id].boosts(boosts) for candidate in candidates]
    most = max(1.0, *factors) if factors else 1.0
    boosted = [
        _rescale(candidate, factor / most, factor)
        for candidate, factor in zip(candidates, factors, strict=True)
    ]
    return sorted(boosted, key=lambda candidate: (candidate.retrieval.related, -candidate.score))


def _rescale(candidate: RankedEntry, share: float, factor: float) -> RankedEntry:
    """Return the candidate with this share of its score, and its relevance multiplied, at most 1."""
    retrieval = candidate.retrieval
    if retrieval.relevance is not None:
        retrieval = replace(retrieval, relevance=min(1.0, factor * retrieval.relevance))
    return replace(candidate, score=share * candidate.score, retrieval=retrieval)


@dataclass(frozen=True, slots=True)
class PinnedDocument:
    """A document that the team has pinned for a query: its key, and its first chunk."""

    document: Hashable
    chunk_id: str


def lift_pinned(
    entries: Sequence[RankedEntry],
    pinned: Sequence[PinnedDocument],
    document_of: Mapping[str, Hashable],
    mode: Mode,
    *,
    are_documents: bool,
) -> list[RankedEntry]:
    """Return the list that begins with the pinned documents, in their order.

    Each is shown by its best candidate, or else by its first chunk, with the best score of the list. In a
    list of documents the latter has no further sections.
    """
    sections = () if are_documents else None
    best = max((entry.score for entry in entries), default=1.0)
    first: list[RankedEntry] = []
    rest = list(entries)
    for pin in pinned:
        found = next((entry for entry in rest if document_of.get(entry.chunk_id) == pin.document), None)
        if found is None:
            detail = RetrievalDetail(method=mode, fusion_score=best, relevance=1.0, pinned=True)
            first.append(
                RankedEntry(rank=1, chunk_id=pin.chunk_id, score=best, retrieval=detail, sections=sections)
            )
        else:
            rest.remove(found)
            detail = replace(found.retrieval, relevance=1.0, related=False, pinned=True)
            first.append(replace(found, score=best, retrieval=detail))
    return [*first, *rest]


def lower_old(
    candidates: Sequence[RankedEntry],
    keys: Mapping[str, SortKeys],
    *,
    now: datetime,
    share: float,
    half_life: timedelta,
) -> list[RankedEntry]:
    """Return the candidates with scores lowered by age, in their new order; related ones stay last.

    Age takes up to `share` of a score: half of that at `half_life`, and nothing from what is dated in the
    future.
    """
    lowered = []
    for candidate in candidates:
        age = max(timedelta(), now - keys[candidate.chunk_id].dated_at) / half_life
        left = 1 - share * (1 - 0.5**age)
        lowered.append(_rescale(candidate, left, left))
    return sorted(lowered, key=lambda candidate: (candidate.retrieval.related, -candidate.score))


def sort_entries(
    entries: Sequence[RankedEntry], keys: Mapping[str, SortKeys], order: Sort
) -> list[RankedEntry]:
    """Return the entries that are not only related in another order; equal ones as ranked."""
    found = [entry for entry in entries if not entry.retrieval.related]
    return sorted(found, key=lambda entry: keys[entry.chunk_id].place(order))
