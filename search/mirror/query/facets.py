"""Documents that a query's words match, counted by the values of each filter."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import apsw
import numpy as np

from search.access.scope import Scope
from search.mirror.postings import Collection
from search.mirror.query.attributes import Attributes
from search.mirror.query.filters import collection_clause
from search.mirror.query.lexical import LexicalLeg
from search.mirror.query.reader import MirrorReading
from search.retrieval.query.filters import TrustLevel

#: The filters that are counted by, in the order in which they are shown.
FACETS: Final = ("source", "media", "lang", "tags_any", "trust_min", "version", "ingested_after")
# With fewer chunks that have every word, those with any count, too: hits are then filled up with these.
_FEW_CHUNKS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """How many documents each value of each filter would leave."""

    #: Whether a document counts that has any of the words; else it has a chunk with all of them.
    is_relaxed: bool
    #: Documents that all filters let through.
    total: int
    #: By filter: (value, documents), the most first, then by value. Of `trust_min` each value counts those
    #: that are better, too; moments of `ingested_after` are as they were given.
    by_filter: dict[str, tuple[tuple[str, int], ...]]


def count_documents(reading: MirrorReading, text: str, moments: dict[str, float]) -> Counted:
    """Count among the documents that the reader of `reading` may read and its filters let through.

    What one filter is set to doesn't narrow its own counts. `moments` are seconds since 1970 by name.
    Raises InvalidQuery, MirrorError, and apsw.InterruptError when the time is up.
    """
    leg = LexicalLeg(reading, text)
    with reading.connection() as connection:
        rows = leg.matching(connection)
        collection = reading.collection(connection)
        attributes = collection.attributes(connection)
        passes = _passes(reading.scope, connection, collection)
        every = rows.every[passes[rows.every]]
        is_relaxed = len(every) < _FEW_CHUNKS and rows.some is not None
        matched = rows.some if is_relaxed and rows.some is not None else rows.every
        total = _documents(collection, matched[passes[matched]])
        by_filter = {}
        for name in FACETS:
            if reading.is_late():
                raise apsw.InterruptError("The time of the counts is up.")
            own = (
                _passes(_without(reading.scope, name), connection, collection)
                if _is_set(reading.scope, name)
                else passes
            )
            matching = _documents(collection, matched[own[matched]])
            by_filter[name] = tuple(_counts(attributes, name, matching, moments))
    return Counted(is_relaxed=is_relaxed, total=int(total.sum()), by_filter=by_filter)


def _passes(scope: Scope, connection: apsw.Connection, collection: Collection) -> np.ndarray:
    return collection_clause(scope).mask(connection, collection.chunks)


def _is_set(scope: Scope, name: str) -> bool:
    return bool(scope.version_tags if name == "version" else getattr(scope.filters, name))


def _without(scope: Scope, name: str) -> Scope:
    filters = replace(scope.filters, **{name: None if name in ("trust_min", "ingested_after") else ()})
    if name == "source":
        return replace(scope, filters=filters, sources=scope.readable)
    return replace(scope, filters=filters, version_tags=() if name == "version" else scope.version_tags)


def _documents(collection: Collection, rows: np.ndarray) -> np.ndarray:
    """Return (n,) bool by document's row, whether it has any of the chunks at `rows`."""
    docs = collection.chunks.docs
    matching = np.zeros(int(docs.max(initial=0)) + 1, bool)
    matching[docs[rows]] = True
    return matching


def _counts(
    attributes: Attributes, name: str, matching: np.ndarray, moments: dict[str, float]
) -> Iterator[tuple[str, int]]:
    if name == "ingested_after":
        yield from ((text, attributes.count_later(matching, at)) for text, at in moments.items())
        return
    counts = attributes.by_filter[name].counts(matching)
    if name == "trust_min":
        yield from _or_better(counts)
    else:
        yield from sorted(counts.items(), key=lambda each: (-each[1], each[0]))


def _or_better(counts: dict[str, int]) -> Iterator[tuple[str, int]]:
    so_far = 0
    levels: Sequence[TrustLevel] = tuple(TrustLevel)
    for level in levels:
        so_far += counts.get(level, 0)
        if counts.get(level, 0):
            yield str(level), so_far
