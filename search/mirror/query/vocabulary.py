"""The vocabulary of the index: its terms, which are stems, by prefix, and chunks that have them."""

import json
from collections.abc import Callable, Collection, Iterable
from heapq import nsmallest

from search.analysis import Analysis, encode_phrase
from search.mirror import postings
from search.mirror.query.view import MirrorView
from search.retrieval.code.definitions import IndexedPassage
from search.retrieval.query.completion import LAST_CHARACTER

# Posting lists that are counted per batch in a part of the mirror.
_NARROWED = 64

_BEGINNING = (
    "SELECT v.term, v.doc FROM json_each(?) b CROSS JOIN chunks_vocab v"
    " WHERE v.term >= b.value AND v.term < b.value || ?"
)
_OF_TERMS = "SELECT v.term, v.doc FROM json_each(?) t CROSS JOIN chunks_vocab v WHERE v.term = t.value"
_SAMPLE = "SELECT chunk_id, breadcrumb, text FROM chunks_fts WHERE chunks_fts MATCH ? {clause} LIMIT ?"


class Vocabulary:
    """The terms of the chunks that a query's reader may read, with counts."""

    def __init__(self, view: MirrorView) -> None:
        """Create the vocabulary of a mirror. Raises MirrorDamaged."""
        self.connection = view.connection
        self._raise_if_late = view.raise_if_late
        #: The analysis that indexed the mirror's text.
        self.analysis: Analysis = view.analysis
        self.view = view
        self._narrowed: postings.Collection | None = view.narrowed_collection

    def chunk_counts(self, terms: Iterable[str]) -> dict[str, int]:
        """Return those of `terms` that any chunk has, each with the number of chunks that have it."""
        if self._narrowed is not None:
            return self._narrowed.frequencies(self.connection, terms)
        return self._count_terms(terms)

    def prefix_counts(
        self, prefixes: Collection[str], *, select: Callable[[list[str]], Iterable[str]]
    ) -> dict[str, int]:
        """Return the terms that begin with any of `prefixes`, each with the number of chunks that have it.

        Only terms that `select` keeps are counted.
        """
        known = self._count_terms_with_prefix(prefixes)
        kept = select(list(known))
        if self._narrowed is not None:
            return self._narrowed.frequencies(self.connection, kept)
        return {term: known[term] for term in kept}

    def most_common_terms(self, prefix: str, others: Collection[str], limit: int) -> list[str]:
        """Return the `limit` most common terms with the prefix, and of `others`; ties alphabetically.

        Counts in the whole mirror are upper bounds for a part of it, so a part's lists are read from the
        longest on, until no other can be among the first.
        """
        bounds = self._count_terms_with_prefix([prefix]) | self._count_terms(others)
        ranked = sorted((-count, term) for term, count in bounds.items())
        if self._narrowed is None:
            return [term for _, term in ranked[:limit]]
        best: list[tuple[int, str]] = []
        for batch in (ranked[at : at + _NARROWED] for at in range(0, len(ranked), _NARROWED)):
            if len(best) == limit and best[-1] < batch[0]:
                break
            counts = self._narrowed.frequencies(self.connection, [term for _, term in batch])
            best = nsmallest(limit, [*best, *((-count, term) for term, count in counts.items())])
        return [term for _, term in best]

    def _count_terms_with_prefix(self, prefixes: Collection[str]) -> dict[str, int]:
        """Return the terms that begin with any of `prefixes`, counted in the whole mirror."""
        return dict(self.connection.execute(_BEGINNING, (json.dumps(sorted(prefixes)), LAST_CHARACTER)))

    def _count_terms(self, terms: Iterable[str]) -> dict[str, int]:
        """Return those of `terms` that exist, counted in the whole mirror."""
        return dict(self.connection.execute(_OF_TERMS, (json.dumps(sorted(set(terms))),)))

    def sample(self, expression: str, limit: int) -> list[IndexedPassage]:
        """Return the first `limit` chunks that `expression` matches under the filters; counts ignore those.

        Raises apsw.InterruptError when the time is up.
        """
        self._raise_if_late()
        rows = self.connection.execute(_SAMPLE.format(clause=self.view.filter_clause), (expression, limit))
        return [IndexedPassage(chunk_id=row[0], breadcrumb=row[1], text=row[2]) for row in rows]


def terms_expression(*terms: str) -> str:
    """Return the FTS5 expression for these terms as a phrase."""
    return encode_phrase([(term,) for term in terms])
