"""The lexical leg: chunks with all terms first, then with some, by bm25, in one read transaction."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import apsw
import numpy as np

from search.analysis import STEMMED, Analysis
from search.mirror import schema
from search.mirror.errors import MirrorError
from search.mirror.postings import (
    Collection,
    Contribution,
    rows_of_all,
    rows_of_best,
    sums_at,
)
from search.mirror.query.bm25 import bm25_call, bm25_values
from search.mirror.query.filters import Clause, collection_clause, filter_clause, source_clause
from search.mirror.query.raw_match import RawQuery
from search.mirror.query.reader import MirrorReading
from search.retrieval.errors import InvalidQuery, LegTimeout
from search.retrieval.fusion.score_scales import lexical_score
from search.retrieval.query.parser import (
    Frequencies,
    MatchUnit,
    build_plain_match,
    check_prefixes,
    check_size,
    compile_all,
    compile_any,
    parse_query,
)
from search.retrieval.text.marked_window import marked_window
from search.retrieval.text.snippet import CLOSE_MARK, OPEN_MARK, Snippet, snippet_words, strip_markers
from search.retrieval.types import Candidate, LexicalTotal, Tier

#: Weights of breadcrumb and text in bm25. 2 to 1 against 1 to 1 is worth 0.007 in nDCG@10 on cranfield, 0.004
#: on scifact, 0.002 on piaf-fr, and changes nothing on five other sets.
BREADCRUMB_WEIGHT = 2.0
TEXT_WEIGHT = 1.0


def index_version(breadcrumb_weight: float = BREADCRUMB_WEIGHT, analysis: Analysis = STEMMED) -> str:
    """Return the version of the lexical ranking: schema, tokenizer and weights."""
    weights = (f"b{breadcrumb_weight:g}", f"t{TEXT_WEIGHT:g}")
    return "-".join(["lex", str(schema.SCHEMA_VERSION), analysis.tokenizer, *weights])


_MATCHES = "SELECT rowid, {bm25} FROM chunks_fts WHERE chunks_fts MATCH ?"
_CHUNK_IDS = "SELECT c.chunk, c.chunk_id FROM json_each(?) v CROSS JOIN chunks c ON c.chunk = v.value"
_CHUNK_ROWS = "SELECT c.chunk_id, c.chunk FROM json_each(?) v CROSS JOIN chunks c ON c.chunk_id = v.value"
_SNIPPETS = (
    "SELECT c.chunk_id, snippet(chunks_fts, 3, ?, ?, '…', ?) FROM json_each(?) v"
    " CROSS JOIN chunks c ON c.chunk_id = v.value CROSS JOIN chunks_fts"
    " WHERE chunks_fts MATCH ? AND chunks_fts.rowid = c.chunk {clause}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A query as match expressions, and as the units that they consist of."""

    #: Every term, or the raw expression.
    every: str
    #: Any of the content terms; '' where relaxing adds nothing.
    some: str
    is_raw: bool
    every_units: tuple[MatchUnit, ...] = ()
    some_units: tuple[MatchUnit, ...] = ()
    #: Units that snippets mark.
    marked_units: tuple[MatchUnit, ...] = ()

    @property
    def widest(self) -> str:
        """Return the expression that every hit matches."""
        return compile_any(self.marked_units) or self.every


@dataclass(frozen=True, slots=True)
class _UnitScores:
    """The contribution of each unit of a query to the scores of rows, in one state of one file."""

    state: tuple[str, int]
    n_rows: int
    by_unit: Mapping[MatchUnit, Contribution]
    #: Whether all units are in it; else the time was up before.
    is_complete: bool

    def of(self, units: Iterable[MatchUnit]) -> list[Contribution]:
        return [self.by_unit[unit] for unit in units if unit in self.by_unit]

    def sums(self, rows: np.ndarray, units: Iterable[MatchUnit]) -> np.ndarray:
        """Return the scores of `rows` for `units`."""
        return sums_at(rows, self.of(units), self.n_rows)


@dataclass(frozen=True, slots=True)
class MatchingRows:
    """The rows of chunks that match a query's words, among all that the reader may read; ascending."""

    #: (n,) int64, those that have every word, or match the raw expression.
    every: np.ndarray
    #: (n,) int64, those that have any; None where relaxing adds nothing.
    some: np.ndarray | None


class LexicalLeg:
    """The lexical search of one query in one workspace's mirror. May be called from another thread."""

    def __init__(
        self, reading: MirrorReading, text: str, *, breadcrumb_weight: float = BREADCRUMB_WEIGHT
    ) -> None:
        self._reading = reading
        self._text = text
        self._weights = (breadcrumb_weight, TEXT_WEIGHT)
        self.match: Match | None = None
        #: The analysis of the mirror's index; the default until the mirror has been read.
        self.analysis = STEMMED
        # Contributions of the last search, to score candidates of other legs.
        self._unit_scores: _UnitScores | None = None
        self._found_ids: frozenset[str] = frozenset()
        self._scores: dict[str, float] = {}
        #: The last change applied to the mirror when it answered; None until then.
        self.seq: int | None = None
        self.total: LexicalTotal | None = None

    def search(self, limit: int) -> list[Candidate]:
        """Return up to `limit` candidates by tier, bm25 of the relaxed expression, then chunk id.

        Raises InvalidQuery for raw syntax that FTS5 refuses, LegTimeout with the candidates found in time.
        """
        try:
            with self._reading.connection() as connection:
                self.seq = self._reading.seq(connection)
                self.match = self.match or self._compile_match(connection)
                if self.match is None:
                    return []
                if self.match.is_raw:
                    return self._search_raw(connection, self.match, filter_clause(self._reading.scope), limit)
                return self._search_units(
                    connection, self.match, collection_clause(self._reading.scope), limit
                )
        except MirrorError as error:
            self.seq = None
            raise LegTimeout(f"The mirror of this node is not ready: {error}") from error
        except apsw.InterruptError as error:
            raise LegTimeout("The lexical leg ran out of time.") from error

    def score(self, chunk_ids: Sequence[str]) -> dict[str, float]:
        """Return this leg's score of each chunk, 0.0 for one without any term. Raises LegTimeout."""
        missing = [id_ for id_ in chunk_ids if id_ not in self._scores]
        if missing:
            self._scores |= self._score_chunks(missing)
        return {id_: self._scores[id_] for id_ in chunk_ids}

    def score_ahead(self, chunk_ids: Iterable[str]) -> None:
        """Score those of these chunks that the last search didn't find, for later calls of `score`.

        Used while waiting for other legs. Does nothing after an interrupted search; a timeout is ignored.
        """
        if self._unit_scores is not None:
            with suppress(LegTimeout):
                self.score([id_ for id_ in chunk_ids if id_ not in self._found_ids])

    def _score_chunks(self, chunk_ids: Sequence[str]) -> dict[str, float]:
        try:
            with self._reading.connection() as connection:
                match = self.match or self._compile_match(connection)
                if match is None:
                    return dict.fromkeys(chunk_ids, 0.0)
                rows = dict(connection.execute(_CHUNK_ROWS, (json.dumps(list(chunk_ids)),)))
                places = np.fromiter(rows.values(), np.int64, len(rows))
                # Document 0 stands for chunks outside the reader's collection.
                belong = self._reading.collection(connection).chunks.docs[places] != 0
                sums = np.where(belong, self._sum_scores(connection, match, places), 0.0).tolist()
        except (MirrorError, apsw.InterruptError) as error:
            raise LegTimeout(f"The lexical scores are not known: {error}") from error
        scores = {id_: lexical_score(-score) for id_, score in zip(rows, sums, strict=True)}
        # Chunks that this mirror lacks have no score.
        return {id_: scores.get(id_, 0.0) for id_ in chunk_ids}

    def _sum_scores(self, connection: apsw.Connection, match: Match, rows: np.ndarray) -> np.ndarray:
        if match.is_raw:
            narrowed = self._reading.narrowed_collection(connection)
            return RawQuery(connection, match.every, narrowed, self._weights).sums(rows)
        unit_scores = self._unit_scores
        if unit_scores is None or unit_scores.state != self._state(connection):
            unit_scores = self._collect_unit_scores(connection, match)
        return unit_scores.sums(rows, match.some_units)

    def matching_rows(self, connection: apsw.Connection) -> MatchingRows:
        """Return the rows that match the query, regardless of filters.

        `connection` is one from this leg's reading. Raises InvalidQuery, MirrorDamaged, and
        apsw.InterruptError when the time is up.
        """
        match = self.match = self.match or self._compile_match(connection)
        if match is None:
            return MatchingRows(np.empty(0, np.int64), None)
        if match.is_raw:
            raw = RawQuery(connection, match.every, None, self._weights)
            found = np.fromiter(raw.rows(), np.int64)
            known = found[found < len(self._reading.collection(connection).chunks.docs)]
            return MatchingRows(np.sort(known), None)
        collection = self._reading.collection(connection)
        units = dict(self._score_units(connection, match, collection))
        every = rows_of_all([units[unit] for unit in match.every_units])
        if not match.some:
            return MatchingRows(every, None)
        has_any = np.zeros(len(collection.chunks.docs), bool)
        for unit in match.some_units:
            has_any[units[unit].rows] = True
        return MatchingRows(every, np.flatnonzero(has_any))

    def snippets(self, texts: Mapping[str, str], snippet_chars: int) -> dict[str, Snippet]:
        """Return, by chunk id, the window of each of `texts` with the most matches, and its highlights."""
        match, size = self.compile_query(), snippet_words(snippet_chars)
        if match is None:
            return {}
        if match.is_raw:
            return {
                id_: strip_markers(marked) for id_, marked in self.fts5_snippets(list(texts), size).items()
            }
        return {
            id_: marked_window(text, self.analysis.analyse(text), match.marked_units, size)
            for id_, text in texts.items()
        }

    def fts5_snippets(self, chunk_ids: Sequence[str], size: int) -> dict[str, str]:
        """Return FTS5's snippets of `size` tokens, with marks, of the chunks that match the query."""
        match, found = self.compile_query(), dict[str, str]()
        if match is None or not chunk_ids:
            return found
        try:
            with self._reading.connection() as connection:
                clause = source_clause(self._reading.scope)
                parameters = (OPEN_MARK, CLOSE_MARK, size, json.dumps(list(chunk_ids)), match.widest)
                found.update(
                    connection.execute(_SNIPPETS.format(clause=clause.sql), (*parameters, *clause.values))
                )
        except (MirrorError, apsw.InterruptError):
            pass  # the caller falls back to the text from Postgres
        return found

    def compile_query(self) -> Match | None:
        """Return the compiled query; None when it has no terms, or no mirror has term frequencies."""
        if self.match is None:
            try:
                with self._reading.connection() as connection:
                    self.match = self._compile_match(connection)
            except (MirrorError, apsw.InterruptError):
                return None
        return self.match

    def _compile_match(self, connection: apsw.Connection) -> Match | None:
        def frequencies(terms: Iterable[str]) -> dict[str, int]:
            return self._reading.collection(connection).frequencies(connection, terms)

        self.analysis = schema.analysis_of(connection)
        return compile_match(self._text, frequencies, self.analysis)

    def _search_raw(
        self, connection: apsw.Connection, match: Match, clause: Clause, limit: int
    ) -> list[Candidate]:
        narrowed = self._reading.narrowed_collection(connection)
        raw = RawQuery(connection, match.every, narrowed, self._weights)
        try:
            rows, count = raw.best(clause, limit), raw.count(clause)
        except apsw.InterruptError as error:
            raise InvalidQuery("The raw query takes too long; make it more selective.") from error
        self.total = LexicalTotal(value=count, relation="eq")
        ids = _fetch_chunk_ids(connection, [row for row, _ in rows])
        return [Candidate(chunk_id=ids[row], score=lexical_score(score), tier=None) for row, score in rows]

    def _search_units(
        self, connection: apsw.Connection, match: Match, clause: Clause, limit: int
    ) -> list[Candidate]:
        passes = clause.mask(connection, self._reading.collection(connection).chunks)
        unit_scores = self._collect_unit_scores(connection, match)
        self._unit_scores = unit_scores if unit_scores.is_complete else None
        # Looking up chunk ids takes milliseconds and is done even when the time is up.
        connection.set_progress_handler(None)
        every = np.empty(0, np.int64)
        if all(unit in unit_scores.by_unit for unit in match.every_units):
            every = rows_of_all(unit_scores.of(match.every_units))
            every = every[passes[every]]
        scores = unit_scores.sums(every, match.some_units)
        found = _best_candidates(connection, every, scores, limit, "all")
        has_others = False
        if len(every) < limit and match.some:
            passes[every] = False
            some = rows_of_best(unit_scores.of(match.some_units), passes, limit - len(found))
            found += _best_candidates(
                connection, some, unit_scores.sums(some, match.some_units), limit - len(found), "some"
            )
            has_others = len(some) > 0
        is_exact = unit_scores.is_complete and not has_others
        self.total = LexicalTotal(value=len(every), relation="eq" if is_exact else "gte")
        self._found_ids = frozenset(candidate.chunk_id for candidate in found)
        if not unit_scores.is_complete:
            raise LegTimeout("The lexical leg ran out of time.", partial=found)
        return found

    def _collect_unit_scores(self, connection: apsw.Connection, match: Match) -> _UnitScores:
        collection = self._reading.collection(connection)
        by_unit: dict[MatchUnit, Contribution] = {}
        is_complete = True
        try:
            by_unit.update(self._score_units(connection, match, collection))
        except apsw.InterruptError:
            is_complete = False
        return _UnitScores(self._state(connection), len(collection.chunks.docs), by_unit, is_complete)

    def _state(self, connection: apsw.Connection) -> tuple[str, int]:
        return connection.filename, self._reading.seq(connection)

    def _score_units(
        self, connection: apsw.Connection, match: Match, collection: Collection
    ) -> Iterator[tuple[MatchUnit, Contribution]]:
        """Yield each unit with its contribution. Raises apsw.InterruptError when the time is up."""
        units = list(dict.fromkeys((*match.some_units, *match.every_units)))
        word_terms = (unit.positions[0] for unit in units if unit.is_word)
        words = collection.score_words(connection, word_terms, self._weights)
        narrowed = self._reading.narrowed_collection(connection)
        matches = _MATCHES.format(bm25=bm25_call(narrowed))
        for unit in units:
            if self._reading.is_late():
                raise apsw.InterruptError("The time of the leg is up.")
            if unit.is_word:
                yield unit, words[unit.positions[0]]
            else:
                values = (*bm25_values(narrowed, self._weights), unit.expression)
                found = partial(_fetch_rows_and_scores, connection, matches, values)
                yield unit, collection.score_phrase(unit.expression, self._weights, found)


def _fetch_rows_and_scores(
    connection: apsw.Connection, sql: str, values: tuple[object, ...]
) -> list[tuple[int, float]]:
    rows: list[Any] = connection.execute(sql, values).fetchall()
    return rows


def compile_match(text: str, frequencies: Frequencies, analysis: Analysis = STEMMED) -> Match | None:
    """Compile `text` to match expressions; None when it has no terms. Raises InvalidQuery."""
    parsed = parse_query(text)
    if parsed.raw is not None:
        check_size(parsed.raw)
        check_prefixes(parsed.raw)
        return Match(every=parsed.raw, some="", is_raw=True)
    plain = build_plain_match(parsed.terms, analysis, frequencies)
    if plain is None:
        return None
    every, some = compile_all(plain.every), compile_any(plain.some)
    return Match(
        every=every,
        some=some if some != every else "",
        is_raw=False,
        every_units=plain.every,
        some_units=plain.some,
        marked_units=plain.marked_units,
    )


def _best_candidates(
    connection: apsw.Connection, rows: np.ndarray, scores: np.ndarray, limit: int, tier: Tier
) -> list[Candidate]:
    """Return candidates for the best `limit` of `rows`, by score, then chunk id."""
    if limit <= 0 or not len(rows):
        return []
    if len(rows) > limit:
        last = np.partition(scores, len(rows) - limit)[len(rows) - limit]
        kept = scores >= last  # includes all ties with the last one
        rows, scores = rows[kept], scores[kept]
    ids = _fetch_chunk_ids(connection, rows.tolist())
    ranked = sorted((-score, ids[row]) for row, score in zip(rows.tolist(), scores.tolist(), strict=True))
    return [Candidate(chunk_id=id_, score=lexical_score(score), tier=tier) for score, id_ in ranked[:limit]]


def _fetch_chunk_ids(connection: apsw.Connection, rows: Iterable[int]) -> dict[int, str]:
    return dict(connection.execute(_CHUNK_IDS, (json.dumps(list(rows)),)))
