"""Okapi bm25 over arrays, number for number what FTS5's `bm25()` gives for an OR of the same units.

    score(chunk) = Σ idf · tf · (k1 + 1) / (tf + k1 · (1 − b + b · length / average length))
    idf = ln((N − n + 0.5) / (n + 0.5)), at least 1e-6;  tf = Σ weight of column · count in column

S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009; constants and
the floor as in https://sqlite.org/fts5.html#the_bm25_function and its source.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from search.mirror.errors import MirrorDamaged
from search.mirror.postings.entries import Postings
from search.mirror.postings.read import K1, ChunkTable, idf


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one unit adds to the score of each chunk that has it."""

    #: (n,) int64
    rows: np.ndarray
    #: (n,) float64
    scores: np.ndarray


class Scores:
    """Sums over the units of a query, by chunk row; higher is better."""

    def __init__(self, chunks: ChunkTable, weights: tuple[float, float]) -> None:
        """`weights` are those of breadcrumb and text."""
        self._weights = weights
        self._count = chunks.chunk_count
        self._damping = chunks.damping
        #: (n,) float64
        self.sums = np.zeros(len(chunks.docs))
        #: (n,) how many of the counted units a chunk has
        self.matched = np.zeros(len(chunks.docs), np.uint16)

    def add(self, found: Contribution) -> None:
        """Add a unit's scores."""
        self.sums[found.rows] += found.scores

    def count(self, found: Contribution) -> None:
        """Count a unit as one that its chunks have."""
        self.matched[found.rows] += 1

    def of_word(self, alternatives: Sequence[Postings]) -> Contribution:
        """Score one word, of which any of `alternatives` will do. Raises MirrorDamaged."""
        if not alternatives:
            return Contribution(np.empty(0, np.int64), np.empty(0))
        postings = alternatives[0] if len(alternatives) == 1 else _united(alternatives)
        rows = postings.rows
        if len(rows) > self._count or rows.max() >= len(self._damping):
            raise MirrorDamaged("A posting list names chunks that there are not.")
        frequency = self._weights[0] * postings.in_breadcrumb + self._weights[1] * postings.in_text
        scores = (frequency * (K1 + 1.0)) / (frequency + self._damping[rows])
        return Contribution(rows, idf(self._count, len(rows)) * scores)

    def of_phrase(self, matches: Sequence[tuple[int, float]]) -> Contribution:
        """Take over what FTS5 scored, lower being better."""
        rows = np.fromiter((row for row, _ in matches), np.int64, len(matches))
        return Contribution(rows, -np.fromiter((score for _, score in matches), np.float64, len(matches)))


def _united(alternatives: Iterable[Postings]) -> Postings:
    """Unite lists of alternatives; a chunk has the larger of its counts.

    That is FTS5's count where the places of one include those of the other, as stems of the same words do.
    """
    lists = list(alternatives)
    rows, places = np.unique(np.concatenate([each.rows for each in lists]), return_inverse=True)
    in_breadcrumb, in_text = np.zeros(len(rows)), np.zeros(len(rows))
    np.maximum.at(in_breadcrumb, places, np.concatenate([each.in_breadcrumb for each in lists]))
    np.maximum.at(in_text, places, np.concatenate([each.in_text for each in lists]))
    return Postings(rows, in_breadcrumb, in_text)
