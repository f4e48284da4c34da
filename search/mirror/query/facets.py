"""Facets: counts of the documents that match a query's words, by the values of each filter."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import apsw
import numpy as np

from search.access.scope import SearchScope
from search.mirror.postings import Collection
from search.mirror.query.attributes import Attributes
from search.mirror.query.filters import collection_clause
from search.mirror.query.lexical import LexicalLeg
from search.mirror.query.view import MirrorSource
from search.retrieval.query.filters import TrustLevel

#: The filters with counts, in display order.
FACETS: Final = ("source", "media", "lang", "tags_any", "author", "trust_min", "version", "ingested_after")
# With fewer chunks that have every word, chunks with any word count too, as they do in hits.
_FEW_CHUNKS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetCounts:
    """The number of documents that each value of each filter would leave."""

    #: Whether documents with any of the words count; else those with a chunk that has all of them.
    is_relaxed: bool
    #: Documents that pass all filters.
    total: int
    #: By filter: (value, documents), most documents first, then by value. Counts of `trust_min` include
    #: better levels; moments of `ingested_after` are in the given order.
    by_filter: dict[str, tuple[tuple[str, int], ...]]


def count_documents(mirror: MirrorSource, text: str, moments: dict[str, float]) -> FacetCounts:
    """Count the matching documents that the reader may read and that pass its filters.

    A filter's own setting doesn't narrow its counts. `moments` are seconds since 1970 by name.
    Raises InvalidQuery, MirrorError, and apsw.InterruptError when the time is up.
    """
    with mirror.open_for_leg() as view:
        rows = LexicalLeg(view, text).matching_rows()
        connection, collection = view.connection, view.collection
        attributes = collection.attributes(connection)
        passes = _filter_mask(view.scope, connection, collection)
        every = rows.every[passes[rows.every]]
        is_relaxed = len(every) < _FEW_CHUNKS and rows.some is not None
        matched = rows.some if is_relaxed and rows.some is not None else rows.every
        total = _document_mask(collection, matched[passes[matched]])
        by_filter = {}
        for name in FACETS:
            view.raise_if_late()
            own = (
                _filter_mask(_without_filter(view.scope, name), connection, collection)
                if _is_set(view.scope, name)
                else passes
            )
            matching = _document_mask(collection, matched[own[matched]])
            by_filter[name] = tuple(_count_values(attributes, name, matching, moments))
    return FacetCounts(is_relaxed=is_relaxed, total=int(total.sum()), by_filter=by_filter)


def _filter_mask(scope: SearchScope, connection: apsw.Connection, collection: Collection) -> np.ndarray:
    return collection_clause(scope).mask(connection, collection.chunks)


def _is_set(scope: SearchScope, name: str) -> bool:
    return bool(scope.version_tags if name == "version" else getattr(scope.filters, name))


def _without_filter(scope: SearchScope, name: str) -> SearchScope:
    unset: dict[str, Any] = {name: None if name in ("trust_min", "ingested_after") else ()}
    filters = replace(scope.filters, **unset)
    if name == "source":
        return replace(scope, filters=filters, sources=scope.readable)
    return replace(scope, filters=filters, version_tags=() if name == "version" else scope.version_tags)


def _document_mask(collection: Collection, rows: np.ndarray) -> np.ndarray:
    """Return (n,) bool by document row, whether the document has any of the chunks at `rows`."""
    docs = collection.chunks.docs
    matching = np.zeros(int(docs.max(initial=0)) + 1, bool)
    matching[docs[rows]] = True
    return matching


def _count_values(
    attributes: Attributes, name: str, matching: np.ndarray, moments: dict[str, float]
) -> Iterator[tuple[str, int]]:
    if name == "ingested_after":
        yield from ((text, attributes.count_indexed_after(matching, at)) for text, at in moments.items())
        return
    counts = attributes.by_filter[name].counts(matching)
    if name == "trust_min":
        yield from _cumulate_trust_levels(counts)
    else:
        yield from sorted(counts.items(), key=lambda each: (-each[1], each[0]))


def _cumulate_trust_levels(counts: dict[str, int]) -> Iterator[tuple[str, int]]:
    so_far = 0
    levels: Sequence[TrustLevel] = tuple(TrustLevel)
    for level in levels:
        so_far += counts.get(level, 0)
        if counts.get(level, 0):
            yield str(level), so_far
