"""The lexical leg: chunks with all terms first, then with some, by bm25, in one read transaction."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import apsw
import numpy as np

from search.analysis import STEMMED, Analysis
from search.metrics import DEGRADED, LEG_SECONDS, stage
from search.mirror import schema
from search.mirror.postings import (
    Contribution,
    WeightedContribution,
    rows_of_all,
    rows_of_best,
    sums_at,
    take_best,
)
from search.mirror.query.match import Match, compile_match
from search.mirror.query.raw_match import RawQuery, bm25_call, bm25_values
from search.mirror.query.spelling import Vocabulary
from search.mirror.query.view import MirrorView
from search.retrieval.errors import InvalidQuery
from search.retrieval.fusion.floor import least_share
from search.retrieval.fusion.legs import TIERS, LegName, LegResult
from search.retrieval.fusion.scores import lexical_scores, rarity
from search.retrieval.query.match_units import MatchUnit
from search.retrieval.text.unicode_scripts import is_unspaced
from search.retrieval.types import LexicalTotal

#: Weights of breadcrumb and text in bm25. 2 to 1 against 1 to 1 is worth 0.007 in nDCG@10 on cranfield, 0.004
#: on scifact, 0.002 on piaf-fr, and changes nothing on five other sets.
BREADCRUMB_WEIGHT = 2.0
TEXT_WEIGHT = 1.0


def index_version(breadcrumb_weight: float = BREADCRUMB_WEIGHT, analysis: Analysis = STEMMED) -> str:
    """Return the version of the lexical ranking: schema, tokenizer and weights."""
    weights = (f"b{breadcrumb_weight:g}", f"t{TEXT_WEIGHT:g}")
    return "-".join(["lex", str(schema.SCHEMA_VERSION), analysis.tokenizer, *weights])


# Of a sum of weights.
_ROUNDING = 1e-9
# Words that a beginning may stand for.
_COMPLETIONS = 64
_MATCHES = "SELECT rowid, {bm25} FROM chunks_fts WHERE chunks_fts MATCH ?"
_MATCHING_CHUNKS = (
    "SELECT c.chunk, c.chunk_id FROM json_each(?) v"
    " CROSS JOIN chunks c ON c.chunk_id = v.value CROSS JOIN chunks_fts"
    " WHERE chunks_fts MATCH ? AND chunks_fts.rowid = c.chunk"
)


@dataclass(frozen=True, slots=True)
class _UnitScores:
    """The contribution of each unit of a query to the scores of rows."""

    n_rows: int
    by_unit: Mapping[MatchUnit, Contribution]
    #: Whether all units are in it; else the time was up before.
    is_complete: bool

    def of(self, units: Iterable[MatchUnit]) -> list[Contribution]:
        return [self.by_unit[unit] for unit in units if unit in self.by_unit]

    def words(self, match: Match) -> list[Contribution]:
        """Return the contributions of a query's words."""
        # The beginning of a word, which stands behind the word, has its place.
        return self.of({unit.term: unit for unit in match.some_units}.values())

    def sums(self, rows: np.ndarray, units: Iterable[MatchUnit]) -> np.ndarray:
        """Return the scores of `rows` for `units`."""
        return sums_at(rows, self.of(units), self.n_rows)


@dataclass(frozen=True, slots=True)
class MatchingRows:
    """The chunks that match a query's words, among all that the reader may read; (n,) bool by row."""

    #: Those that have every word, or match the raw expression.
    every: np.ndarray
    #: Returns those that have any; None where relaxing adds nothing.
    find_some: Callable[[], np.ndarray] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LexicalResult(LegResult):
    """The candidates of the lexical leg by tier, bm25 of the relaxed expression, then chunk id."""

    leg: "LexicalLeg"
    #: None when the query has no terms.
    match: Match | None
    total: LexicalTotal | None = None
    #: The contributions by which it scores; None if they are read when needed, or it was stopped.
    unit_scores: _UnitScores | None = None

    @property
    def can_score(self) -> bool:
        """Return True."""
        return True

    def score(self, ids: np.ndarray) -> np.ndarray:
        """Return the scores of chunks, 0.0 for one without any term, and for one that the mirror lacks."""
        return self.leg.score(ids, self)

    def word_shares(self, ids: np.ndarray) -> tuple[np.ndarray, float] | None:
        """Return the shares of the words' weights, times n^¼ for n words; None: raw, or too late."""
        if self.match is None or self.match.is_raw or not self.is_complete:
            return None
        view = self.leg._view
        try:
            with view.limited_time():
                scores = self.unit_scores or self.leg._collect_unit_scores(self.match)
                rows = view.rows_of(ids)
        except apsw.InterruptError:
            return None
        if not scores.is_complete:
            return None
        words = scores.words(self.match)
        weights = _weigh_words(view, words)
        share = len(words) ** 0.25 / float(weights.sum())
        # Many pairs of characters span two words.
        share *= 2 if is_unspaced(self.match.some_units[0].term[0]) else 1
        return share * (weights @ np.array([each.has(rows) for each in words])), share


class LexicalLeg:
    """The lexical search of one query in one workspace's mirror."""

    name: ClassVar[LegName] = "lexical"
    weight: ClassVar[float] = 1.0
    runs_in_calling_thread: ClassVar[bool] = False
    is_skipped_when_empty: ClassVar[bool] = False

    def __init__(
        self,
        view: MirrorView,
        text: str,
        *,
        breadcrumb_weight: float = BREADCRUMB_WEIGHT,
        is_unfinished: bool = False,
        is_checked: bool = False,
        counts_documents: bool = False,
        needs_words: bool = False,
    ) -> None:
        """Create the leg; `is_checked` says that what the mirror shows is visible.

        The last word of an unfinished query also matches words that begin with it. The total is one of
        chunks, or of documents. If it `needs_words`, chunks with too few of them are no candidates.
        """
        self.is_checked = is_checked
        self._view = view
        self._text = text
        self._is_unfinished = is_unfinished
        self._counts_documents = counts_documents
        self._needs_words = needs_words
        self._weights = (breadcrumb_weight, TEXT_WEIGHT)

    def search(self, limit: int) -> LexicalResult:
        """Return up to `limit` candidates; those found in time if the time is up. With 0 it can only score.

        Raises InvalidQuery for raw syntax that FTS5 refuses, MirrorDamaged.
        """
        match: Match | None = None
        with stage(self.name, LEG_SECONDS):
            try:
                with self._view.limited_time():
                    match = self.compile()
                    if match is None:
                        return LexicalResult(leg=self, match=None)
                    if match.is_raw:
                        return self._search_raw(match, limit)
                    if not limit:
                        return LexicalResult(leg=self, match=match)
                    return self._search_units(match, limit)
            except apsw.InterruptError:
                DEGRADED.add(self.name, "out_of_time")
                return LexicalResult(leg=self, match=match, is_complete=False, is_available=False)

    def compile(self) -> Match | None:
        """Return the compiled query; None when it has no terms. Raises InvalidQuery, apsw.InterruptError."""

        def frequencies(terms: Iterable[str]) -> dict[str, int]:
            return self._view.collection.frequencies(self._view.connection, terms)

        def complete(word: str, others: Collection[str]) -> list[str]:
            return Vocabulary(self._view).most_common_terms(word, others, _COMPLETIONS)

        return compile_match(
            self._text,
            frequencies,
            self._view.analysis,
            complete=complete,
            is_unfinished=self._is_unfinished,
            rules=self._view.scope.rules,
        )

    def score(self, ids: np.ndarray, found: LexicalResult) -> np.ndarray:
        """Return the scores of chunks for the query of a result of this leg; NaN when the time is up."""
        match = found.match
        if match is None:
            return np.zeros(len(ids))
        try:
            with self._view.limited_time():
                rows = self._view.rows_of(ids)
                # Document 0 stands for chunks outside the reader's collection.
                belong = self._view.documents(rows) != 0
                sums = np.zeros(len(ids))
                sums[belong] = self._sum_scores(match, rows[belong], found.unit_scores)
        except apsw.InterruptError:
            return np.full(len(ids), np.nan)
        return lexical_scores(sums)

    def _sum_scores(self, match: Match, rows: np.ndarray, unit_scores: _UnitScores | None) -> np.ndarray:
        if match.is_raw:
            view = self._view
            raw = RawQuery(view.connection, match.every, view.narrowed_collection, self._weights)
            return raw.sums(rows)
        return (unit_scores or self._collect_unit_scores(match)).sums(rows, match.some_units)

    def matching_rows(self) -> MatchingRows:
        """Return the chunks that match the query, regardless of filters.

        Raises InvalidQuery, MirrorDamaged, and apsw.InterruptError when the time is up.
        """
        match = self.compile()
        every = np.zeros(len(self._view.collection.chunks.docs), bool)
        if match is None:
            return MatchingRows(every)
        if match.is_raw:
            raw = RawQuery(self._view.connection, match.every, None, self._weights)
            found = np.fromiter(raw.rows(), np.int64)
            every[found[found < len(every)]] = True
            return MatchingRows(every)
        units = dict(self._score_units(match))
        every[rows_of_all([units[unit] for unit in match.every_units])] = True

        def find_some() -> np.ndarray:
            some = np.zeros_like(every)
            for unit in match.some_units:
                some[units[unit].rows] = True
            return some

        return MatchingRows(every, find_some if match.some else None)

    def _search_raw(self, match: Match, limit: int) -> LexicalResult:
        view, clause = self._view, self._view.clause
        raw = RawQuery(view.connection, match.every, view.narrowed_collection, self._weights)
        try:
            found = raw.best(clause, limit)
            view.raise_if_late()
            count = self._count_raw(raw) if self._counts_documents else raw.count(clause)
        except apsw.InterruptError as error:
            raise InvalidQuery("The raw query takes too long; make it more selective.") from error
        rows = np.fromiter((row for row, _ in found), np.int64, len(found))
        return LexicalResult(
            leg=self,
            match=match,
            ids=view.collection.chunks.ids[rows],
            scores=lexical_scores(-np.fromiter((score for _, score in found), np.float64, len(found))),
            tiers=np.zeros(len(found), np.uint8),
            total=LexicalTotal(value=count, relation="eq"),
        )

    def _search_units(self, match: Match, limit: int) -> LexicalResult:
        view = self._view
        chunks = view.collection.chunks
        passes = view.passes
        unit_scores = self._collect_unit_scores(match)
        some, n_rows = unit_scores.of(match.some_units), unit_scores.n_rows
        every = np.empty(0, np.int64)
        if all(unit in unit_scores.by_unit for unit in match.every_units):
            every = rows_of_all(unit_scores.of(match.every_units))
            every = every[passes[every]]
        rows, sums = take_best(every, sums_at(every, some, n_rows), chunks.ids, limit)
        tiers = np.full(len(rows), _ALL)
        has_others = False
        if len(every) < limit and match.some:
            others_pass = passes.copy()
            others_pass[every] = False
            others = rows_of_best(some, others_pass, limit - len(rows))
            if self._needs_words:
                others = others[_have_enough_words(view, unit_scores.words(match), others)]
            has_others = len(others) > 0
            others, other_sums = take_best(
                others, sums_at(others, some, n_rows), chunks.ids, limit - len(rows)
            )
            rows, sums = np.concatenate([rows, others]), np.concatenate([sums, other_sums])
            tiers = np.concatenate([tiers, np.full(len(others), _SOME)])
        if not unit_scores.is_complete:
            DEGRADED.add(self.name, "out_of_time")
        view.note_rows(chunks.ids[rows], rows)
        is_exact = unit_scores.is_complete and (len(every) > 0 or not has_others)
        return LexicalResult(
            leg=self,
            match=match,
            ids=chunks.ids[rows],
            scores=lexical_scores(sums),
            tiers=tiers,
            total=LexicalTotal(value=self._count(every), relation="eq" if is_exact else "gte"),
            is_complete=unit_scores.is_complete,
            is_available=unit_scores.is_complete or len(rows) > 0,
            unit_scores=unit_scores if unit_scores.is_complete else None,
        )

    def _count(self, rows: np.ndarray) -> int:
        if not self._counts_documents:
            return len(rows)
        return len(np.unique(self._view.collection.chunks.docs[rows]))

    def _count_raw(self, raw: RawQuery) -> int:
        rows = np.fromiter(raw.rows(), np.int64)
        rows = rows[rows < len(self._view.passes)]
        return self._count(rows[self._view.passes[rows]])

    def _collect_unit_scores(self, match: Match) -> _UnitScores:
        by_unit: dict[MatchUnit, Contribution] = {}
        is_complete = True
        try:
            by_unit.update(self._score_units(match))
        except apsw.InterruptError:
            is_complete = False
        return _UnitScores(len(self._view.collection.chunks.docs), by_unit, is_complete)

    def _score_units(self, match: Match) -> Iterator[tuple[MatchUnit, Contribution]]:
        """Yield each unit with its contribution. Raises apsw.InterruptError when the time is up."""
        view, collection = self._view, self._view.collection
        units = list(dict.fromkeys((*match.some_units, *match.every_units)))
        word_terms = (unit.positions[0] for unit in units if unit.is_word)
        words = collection.score_words(view.connection, word_terms, self._weights)
        matches = _MATCHES.format(bm25=bm25_call(view.narrowed_collection))
        for unit in units:
            view.raise_if_late()
            if unit.is_word:
                contribution = words[unit.positions[0]]
            else:
                values = (*bm25_values(view.narrowed_collection, self._weights), unit.expression)
                found = partial(_fetch_rows_and_scores, view.connection, matches, values)
                contribution = collection.score_phrase(unit.expression, self._weights, found)
            weight = match.weights.get(unit)
            yield unit, contribution if weight is None else WeightedContribution(contribution, weight)


def _weigh_words(view: MirrorView, words: Sequence[Contribution]) -> np.ndarray:
    count = view.collection.chunks.chunk_count
    return np.array([rarity(len(each), count) for each in words])


def _have_enough_words(view: MirrorView, words: Sequence[Contribution], rows: np.ndarray) -> np.ndarray:
    """Return (n,) bool, which chunks have as much of the words' weight as the floor wants."""
    weights = _weigh_words(view, words)
    found = weights @ np.array([each.has(rows) for each in words])
    enough: np.ndarray = found >= (least_share(len(words)) - _ROUNDING) * weights.sum()
    return enough


_ALL, _SOME = (np.uint8(TIERS.index(tier)) for tier in ("all", "some"))


def chunks_that_match(view: MirrorView, match: Match, chunk_ids: Sequence[str]) -> Set[str]:
    """Return those of `chunk_ids` that match and that the reader may see; none if the time is up."""
    try:
        with view.limited_time():
            values = (json.dumps(list(chunk_ids)), match.widest)
            passes, found = view.passes, view.connection.execute(_MATCHING_CHUNKS, values)
            return {chunk_id for row, chunk_id in found if passes[row]}
    except apsw.InterruptError:
        return frozenset()


def _fetch_rows_and_scores(
    connection: apsw.Connection, sql: str, values: tuple[object, ...]
) -> list[tuple[int, float]]:
    rows: list[Any] = connection.execute(sql, values).fetchall()
    return rows
