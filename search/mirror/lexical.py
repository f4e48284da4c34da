"""The lexical leg: all terms first, then some, by bm25, from one read transaction on the mirror."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import apsw
import numpy as np

from search import analysis
from search.mirror import schema
from search.mirror.bm25 import bm25_call, bm25_values
from search.mirror.errors import MirrorError
from search.mirror.filters import Clause, collection_clause, filter_clause, source_clause
from search.mirror.postings import Collection, Contribution, Scores
from search.mirror.reading import MirrorReading
from search.retrieval.errors import InvalidQuery, LegTimeout, shown
from search.retrieval.match import (
    Frequencies,
    Unit,
    check_prefixes,
    check_size,
    compile_all,
    compile_any,
    match_of,
    parse_query,
)
from search.retrieval.score import lexical_score
from search.retrieval.snippet import CLOSE_MARK, OPEN_MARK, snippet_words
from search.retrieval.types import Candidate, LexicalTotal, Tier

#: Weights of breadcrumb and text in bm25. 2 to 1 against 1 to 1 is worth 0.007 in nDCG@10 on cranfield, 0.004
#: on scifact, 0.002 on piaf-fr, and changes nothing on five other sets.
BREADCRUMB_WEIGHT = 2.0
TEXT_WEIGHT = 1.0
_WEIGHTS = (BREADCRUMB_WEIGHT, TEXT_WEIGHT)
#: Names what produces the lexical ranking.
INDEX_VERSION = "-".join(
    [
        "lex",
        str(schema.SCHEMA_VERSION),
        analysis.TOKENIZER,
        f"b{BREADCRUMB_WEIGHT:g}",
        f"t{TEXT_WEIGHT:g}",
    ]
)

_MATCHES = "SELECT rowid, {bm25} FROM chunks_fts WHERE chunks_fts MATCH ?"
_BEST = (
    "SELECT f.rowid, f.score FROM (SELECT rowid, {bm25} AS score FROM chunks_fts"
    " WHERE chunks_fts MATCH ? {clause}) f JOIN chunks c ON c.chunk = f.rowid"
    " ORDER BY f.score, c.chunk_id LIMIT ?"
)
_COUNT = "SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH ? {clause}"
_CHUNK_IDS = "SELECT c.chunk, c.chunk_id FROM json_each(?) v CROSS JOIN chunks c ON c.chunk = v.value"
_CHUNK_ROWS = "SELECT c.chunk_id, c.chunk FROM json_each(?) v CROSS JOIN chunks c ON c.chunk_id = v.value"
_SNIPPETS = (
    "SELECT c.chunk_id, snippet(chunks_fts, 3, ?, ?, '…', ?) FROM json_each(?) v"
    " CROSS JOIN chunks c ON c.chunk_id = v.value CROSS JOIN chunks_fts"
    " WHERE chunks_fts MATCH ? AND chunks_fts.rowid = c.chunk {clause}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A query as match expressions, and as the units that they are made of."""

    #: Every term, or the raw expression.
    every: str
    #: Any of the content terms; '' where relaxing adds nothing.
    some: str
    #: What snippets mark; '' where it is `every`.
    marked: str = ""
    is_raw: bool
    every_units: tuple[Unit, ...] = ()
    some_units: tuple[Unit, ...] = ()

    @property
    def widest(self) -> str:
        """The expression that every hit matches, for snippets."""
        return self.marked or self.every


@dataclass(frozen=True, slots=True)
class _Ranking:
    """The scored chunks of a query, by row."""

    scores: np.ndarray
    #: Whether a chunk has every term, and whether it passes the filters.
    has_every: np.ndarray
    passes: np.ndarray
    is_complete: bool


class LexicalLeg:
    """One query against the mirror of one workspace. Safe to call from another thread than made it."""

    def __init__(self, reading: MirrorReading, text: str) -> None:
        self._reading = reading
        self._text = text
        self.match: Match | None = None
        #: The number that the mirror had come to when it answered; None until then.
        self.seq: int | None = None
        self.total: LexicalTotal | None = None

    def search(self, limit: int) -> list[Candidate]:
        """Give up to `limit` candidates: tier, then bm25 of the relaxed expression, then chunk id.

        Raises InvalidQuery for raw syntax that FTS5 refuses, LegTimeout with what was found in time.
        """
        try:
            with self._reading.connection() as connection:
                self.seq = self._reading.seq(connection)
                self.match = self.match or self._compiled(connection)
                if self.match is None:
                    return []
                if self.match.is_raw:
                    return self._raw(connection, self.match, filter_clause(self._reading.scope), limit)
                return self._ranked(connection, self.match, collection_clause(self._reading.scope), limit)
        except MirrorError as error:
            self.seq = None
            raise LegTimeout(f"The mirror of this node is not ready: {error}") from error
        except apsw.InterruptError as error:
            raise LegTimeout("The lexical leg ran out of time.") from error

    def score(self, chunk_ids: Sequence[str]) -> dict[str, float]:
        """Give the leg's score of each of these chunks, 0.0 where no term is in it. Raises LegTimeout."""
        try:
            with self._reading.connection() as connection:
                match = self.match or self._compiled(connection)
                rows = dict(connection.execute(_CHUNK_ROWS, (json.dumps(list(chunk_ids)),)))
                if match is None or match.is_raw:
                    return dict.fromkeys(chunk_ids, 0.0)
                ranking = self._scored(connection, match, Clause())
                sums = np.where(ranking.passes, ranking.scores, 0.0)  # of what the reader may read
        except (MirrorError, apsw.InterruptError) as error:
            raise LegTimeout(f"The lexical scores are not known: {error}") from error
        # A chunk that this mirror doesn't know yet can't have been scored by it.
        return {id_: lexical_score(-sums[rows[id_]]) if id_ in rows else 0.0 for id_ in chunk_ids}

    def snippets(self, chunk_ids: Sequence[str], snippet_chars: int) -> dict[str, str]:
        """Give the marked snippet of each chunk that the query's words are found in, by chunk id."""
        found: dict[str, str] = {}
        if not chunk_ids:
            return found
        try:
            with self._reading.connection() as connection:
                match = self.match or self._compiled(connection)
                if match is not None:
                    shape = (OPEN_MARK, CLOSE_MARK, snippet_words(snippet_chars))
                    clause = source_clause(self._reading.scope)
                    values = (*shape, json.dumps(list(chunk_ids)), match.widest, *clause.values)
                    found.update(connection.execute(_SNIPPETS.format(clause=clause.sql), values))
        except (MirrorError, apsw.InterruptError):
            pass  # the text from Postgres serves as well
        return found

    def _compiled(self, connection: apsw.Connection) -> Match | None:
        def frequencies(terms: Iterable[str]) -> dict[str, int]:
            return self._reading.collection(connection).frequencies(connection, terms)

        return compile_match(self._text, frequencies)

    def _raw(self, connection: apsw.Connection, match: Match, clause: Clause, limit: int) -> list[Candidate]:
        narrowed = self._reading.narrowed_collection(connection)
        best = _BEST.format(bm25=bm25_call(narrowed), clause=clause.sql)
        matching = (match.every, *clause.values)
        try:
            rows = list(connection.execute(best, (*bm25_values(narrowed, _WEIGHTS), *matching, limit)))
            count = connection.execute(_COUNT.format(clause=clause.sql), matching).fetchone()[0]
        except apsw.InterruptError as error:
            raise InvalidQuery("The raw query takes too long; make it more selective.") from error
        except apsw.SQLError as error:
            raise InvalidQuery(f"{shown(self._text)} is not FTS5 syntax: {error}. Mend it.") from error
        self.total = LexicalTotal(value=count, relation="eq")
        ids = _chunk_ids(connection, [row for row, _ in rows])
        return [Candidate(chunk_id=ids[row], score=lexical_score(score), tier=None) for row, score in rows]

    def _ranked(
        self, connection: apsw.Connection, match: Match, clause: Clause, limit: int
    ) -> list[Candidate]:
        ranking = self._scored(connection, match, clause)
        # To name what was found takes milliseconds, and is not left out when the time is up.
        connection.set_progress_handler(None)
        every = np.flatnonzero(ranking.has_every & ranking.passes)
        found = _best(connection, ranking.scores, every, limit, "all")
        is_relaxed = len(every) < limit and bool(match.some)
        if is_relaxed:
            some = np.flatnonzero((ranking.scores > 0) & ~ranking.has_every & ranking.passes)
            found += _best(connection, ranking.scores, some, limit - len(found), "some")
        self.total = LexicalTotal(value=len(every), relation="gte" if is_relaxed else "eq")
        if not ranking.is_complete:
            raise LegTimeout("The lexical leg ran out of time.", partial=found)
        return found

    def _scored(self, connection: apsw.Connection, match: Match, clause: Clause) -> _Ranking:
        collection = self._reading.collection(connection)
        passes = clause.mask(connection, collection.chunks)
        scores = Scores(collection.chunks, _WEIGHTS)
        is_complete = True
        try:
            for unit, found in self._found(connection, match, collection, scores):
                if unit in match.some_units:
                    scores.add(found)
                if unit in match.every_units:
                    scores.count(found)
        except apsw.InterruptError:
            is_complete = False
        return _Ranking(scores.sums, scores.matched == len(match.every_units), passes, is_complete)

    def _found(
        self, connection: apsw.Connection, match: Match, collection: Collection, scores: Scores
    ) -> Iterator[tuple[Unit, Contribution]]:
        """Give what each unit adds. Raises apsw.InterruptError when the time is up."""
        units = list(dict.fromkeys((*match.some_units, *match.every_units)))
        terms = {term for unit in units if unit.is_word for term in unit.positions[0]}
        postings = collection.postings(connection, terms)
        narrowed = self._reading.narrowed_collection(connection)
        matches = _MATCHES.format(bm25=bm25_call(narrowed))
        for unit in units:
            if self._reading.is_late():
                raise apsw.InterruptError("The time of the leg is up.")
            if unit.is_word:
                yield unit, scores.of_word([postings[term] for term in unit.positions[0] if term in postings])
            else:
                values = (*bm25_values(narrowed, _WEIGHTS), unit.expression)
                yield unit, scores.of_phrase(connection.execute(matches, values).fetchall())


def compile_match(text: str, frequencies: Frequencies) -> Match | None:
    """Give what `text` matches; None when it has nothing to look for. Raises InvalidQuery."""
    parsed = parse_query(text)
    if parsed.raw is not None:
        check_size(parsed.raw)
        check_prefixes(parsed.raw)
        return Match(every=parsed.raw, some="", is_raw=True)
    plain = match_of(parsed.terms, analysis, frequencies)
    if plain is None:
        return None
    every, some = compile_all(plain.every), compile_any(plain.some)
    return Match(
        every=every,
        some=some if some != every else "",
        marked=compile_any(plain.marked),
        is_raw=False,
        every_units=plain.every,
        some_units=plain.some,
    )


def _best(
    connection: apsw.Connection, scores: np.ndarray, rows: np.ndarray, limit: int, tier: Tier
) -> list[Candidate]:
    """Give the best `limit` of `rows`, by score, then chunk id."""
    if limit <= 0 or not len(rows):
        return []
    if len(rows) > limit:
        last = np.partition(scores[rows], len(rows) - limit)[len(rows) - limit]
        rows = rows[scores[rows] >= last]  # with all that tie at the end
    ids = _chunk_ids(connection, rows.tolist())
    ranked = sorted(
        (-score, ids[row]) for row, score in zip(rows.tolist(), scores[rows].tolist(), strict=True)
    )
    return [Candidate(chunk_id=id_, score=lexical_score(score), tier=tier) for score, id_ in ranked[:limit]]


def _chunk_ids(connection: apsw.Connection, rows: Iterable[int]) -> dict[int, str]:
    return dict(connection.execute(_CHUNK_IDS, (json.dumps(list(rows)),)))
