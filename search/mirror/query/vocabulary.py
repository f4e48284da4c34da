"""The index's own words: its terms, which are stems, by how they begin, and chunks that have them."""

import json
from collections.abc import Callable, Collection, Iterable
from functools import cached_property
from heapq import nsmallest

import apsw

from search.analysis import Analysis, analysed_phrase
from search.mirror import postings
from search.mirror.query.filters import Clause, filter_clause
from search.mirror.query.reader import MirrorReading
from search.mirror.schema import analysis_of
from search.retrieval.code.definitions import Passage
from search.retrieval.query.completion import LAST_CHARACTER

# Posting lists that are counted at a time in a part of the mirror.
_NARROWED = 64

_BEGINNING = (
    "SELECT v.term, v.doc FROM json_each(?) b CROSS JOIN chunks_vocab v"
    " WHERE v.term >= b.value AND v.term < b.value || ?"
)
_OF_TERMS = "SELECT v.term, v.doc FROM json_each(?) t CROSS JOIN chunks_vocab v WHERE v.term = t.value"
_SAMPLE = "SELECT chunk_id, breadcrumb, text FROM chunks_fts WHERE chunks_fts MATCH ? {clause} LIMIT ?"


class Vocabulary:
    """The terms that a query's reader may know of, counted in the chunks that they may read."""

    def __init__(self, reading: MirrorReading, connection: apsw.Connection) -> None:
        """`connection` is one that `reading` gave. Raises MirrorDamaged."""
        self.connection = connection
        #: Of the chunks that are sampled, which the query's filters narrow; they narrow no count.
        self.clause: Clause = filter_clause(reading.scope)
        self._narrowed: postings.Collection | None = reading.narrowed_collection(connection)

    @cached_property
    def analysis(self) -> Analysis:
        """By which the mirror's text is indexed."""
        return analysis_of(self.connection)

    def chunk_counts(self, terms: Iterable[str]) -> dict[str, int]:
        """Return those of `terms` that any chunk has, each with the number of chunks that have it."""
        if self._narrowed is not None:
            return self._narrowed.frequencies(self.connection, terms)
        return self._of_terms(terms)

    def counts_beginning(
        self, beginnings: Collection[str], *, like: Callable[[list[str]], Iterable[str]]
    ) -> dict[str, int]:
        """Return the terms that begin with any of `beginnings`, each with the number of chunks that have it.

        Only those that `like` keeps of them, going by their letters.
        """
        known = self._beginning(beginnings)
        kept = like(list(known))
        if self._narrowed is not None:
            return self._narrowed.frequencies(self.connection, kept)
        return {term: known[term] for term in kept}

    def commonest(self, beginning: str, others: Collection[str], limit: int) -> list[str]:
        """Return the `limit` terms that most chunks have, then by letters, of those that begin so and
        `others`.

        More chunks than in the whole mirror no part of it has, so that a part's lists are read from the
        longest on, until no other can come among the first.
        """
        bounds = self._beginning([beginning]) | self._of_terms(others)
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

    def _beginning(self, beginnings: Collection[str]) -> dict[str, int]:
        """Return the terms that begin with any of these, counted in the whole mirror."""
        return dict(self.connection.execute(_BEGINNING, (json.dumps(sorted(beginnings)), LAST_CHARACTER)))

    def _of_terms(self, terms: Iterable[str]) -> dict[str, int]:
        """Return these terms, counted in the whole mirror."""
        return dict(self.connection.execute(_OF_TERMS, (json.dumps(sorted(set(terms))),)))

    def sample(self, expression: str, limit: int) -> list[Passage]:
        """Return the first `limit` chunks that `expression` matches under the filters."""
        values = (expression, *self.clause.values, limit)
        rows = self.connection.execute(_SAMPLE.format(clause=self.clause.sql), values)
        return [Passage(chunk_id=row[0], breadcrumb=row[1], text=row[2]) for row in rows]


def of_terms(*terms: str) -> str:
    """Return the expression of these terms one behind the other."""
    return analysed_phrase([(term,) for term in terms])
