"""Facets: counts of the documents that match a query's words, by the values of each filter."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np

from search.mirror.postings import Collection
from search.mirror.query.attributes import Attribute
from search.mirror.query.lexical import MatchingRows
from search.mirror.query.view import MirrorView
from search.retrieval.query.filters import SearchFilters, TrustLevel
from search.retrieval.query.metadata import Value

#: The filters with counts, in display order.
FACETS: Final = ("source", "media", "lang", "tags_any", "author", "trust_min", "version", "ingested_after")
# The filter whose values are moments.
_MOMENTS: Final = "ingested_after"
# Limit for reading attributes, once after each change: of a million documents half a second each.
_READING_S: Final = 5.0
# With fewer documents that have every word, others count too, as they do in hits.
_FEW_DOCUMENTS = 10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MatchedRows:
    """The chunks that match a query regardless of filters, among all that the reader may read."""

    #: (n,) bool by row.
    rows: np.ndarray
    #: Whether others than those with every word are among them.
    is_relaxed: bool = False
    #: Whether a search may not show more.
    is_exact: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetCounts:
    """The number of documents that each value of each filter would leave."""

    is_relaxed: bool
    is_exact: bool
    #: Documents that pass all filters.
    total: int
    #: By filter: (value, documents), most documents first, then by value. Counts of `trust_min` include
    #: better levels; moments of `ingested_after` are in the given order.
    by_filter: dict[str, tuple[tuple[Value, int], ...]]


def are_few(view: MirrorView, rows: np.ndarray) -> bool:
    """Return whether chunks at `rows`, (n,) bool, of too few documents to count alone pass the filters."""
    return int(_document_mask(view.collection, rows & view.passes).sum()) < _FEW_DOCUMENTS


def match_words(view: MirrorView, words: MatchingRows) -> MatchedRows:
    """Return the chunks with all words; those with any where few have all."""
    if words.find_some is None or not are_few(view, words.every):
        return MatchedRows(rows=words.every)
    return MatchedRows(rows=words.find_some(), is_relaxed=True)


def count_documents(
    view: MirrorView,
    match: Callable[[], MatchedRows] | None,
    moments: Iterable[datetime],
    names: Sequence[str] = FACETS,
) -> FacetCounts:
    """Count the documents with matching chunks that the reader may read and that pass its filters.

    A filter's own setting doesn't narrow its counts. `moments` are the values of `ingested_after`; `names`
    are those of filters, METADATA, and `metadata.` with the name of a field. With None for `match` all
    documents match. Raises InvalidQuery, MirrorError, and apsw.InterruptError when the time is up.
    """
    connection, collection = view.connection, view.collection
    # Not in the time of a leg: what that cuts off is never read, however often it is asked for.
    with view.limited_time(_READING_S):
        attributes = {name: collection.attribute(connection, name) for name in names if name != _MOMENTS}
        since = {
            moment.isoformat(): view.meeting(SearchFilters(ingested_after=moment).conditions())
            for moment in moments
        }
    with view.limited_time():
        found = MatchedRows(rows=collection.chunks.docs != 0) if match is None else match()
        matched = found.rows
        total = _document_mask(collection, matched & view.passes)
        by_filter: dict[str, tuple[tuple[Value, int], ...]] = {}
        for name in names:
            view.raise_if_late()
            matching = total
            others = [each for each in view.scope.conditions if each.name != name]
            if len(others) < len(view.scope.conditions):
                matching = _document_mask(collection, matched & view.meeting(others))
            counts: list[tuple[Value, int]]
            if name == _MOMENTS:
                later = {moment: _document_mask(collection, rows) for moment, rows in since.items()}
                counts = [(moment, int(np.count_nonzero(matching & each))) for moment, each in later.items()]
            else:
                counts = _count_values(attributes[name], name, matching)
            by_filter[name] = tuple(counts)
    return FacetCounts(
        is_relaxed=found.is_relaxed, is_exact=found.is_exact, total=int(total.sum()), by_filter=by_filter
    )


def _document_mask(collection: Collection, rows: np.ndarray) -> np.ndarray:
    """Return (n,) bool by document row, whether the document has any of the chunks at `rows`, (m,) bool."""
    docs = collection.chunks.docs
    matching = np.zeros(int(docs.max(initial=0)) + 1, bool)
    matching[docs[np.flatnonzero(rows)]] = True
    return matching


def _count_values(attribute: Attribute, name: str, matching: np.ndarray) -> list[tuple[Value, int]]:
    counts = attribute.counts(matching)
    if name == "trust_min":
        return list(_cumulate_trust_levels(counts))
    return sorted(counts.items(), key=lambda each: (-each[1], str(each[0])))


def _cumulate_trust_levels(counts: Mapping[Value, int]) -> Iterator[tuple[str, int]]:
    so_far = 0
    levels: Sequence[TrustLevel] = tuple(TrustLevel)
    for level in levels:
        so_far += counts.get(level, 0)
        if counts.get(level, 0):
            yield str(level), so_far
