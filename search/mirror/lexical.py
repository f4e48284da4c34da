"""The lexical leg: all terms first, then some, by bm25, from one read transaction on the mirror."""

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import apsw

from search.mirror import schema
from search.mirror.connections import ReaderPool
from search.mirror.errors import MirrorDamaged, MirrorError
from search.mirror.files import MirrorFiles
from search.mirror.filters import Clause, bind_path_filter, filter_clause
from search.mirror.sync import applied_seq
from search.retrieval.errors import InvalidQuery, LegTimeout, shown
from search.retrieval.match import cap_terms, check_prefixes, compile_all, compile_any, parse_query
from search.retrieval.score import lexical_score
from search.retrieval.snippet import CLOSE_MARK, OPEN_MARK, snippet_words
from search.retrieval.stopwords import content_terms
from search.retrieval.types import Candidate, LexicalTotal, Tier
from search.scope import Scope

logger = logging.getLogger(__name__)

#: Weights of breadcrumb and text in bm25: equal, as no judged set has shown better ones yet.
BREADCRUMB_WEIGHT = 1.0
TEXT_WEIGHT = 1.0
#: Names what produces the lexical ranking.
INDEX_VERSION = "-".join(
    [
        "lex",
        str(schema.SCHEMA_VERSION),
        schema.TOKENIZER.replace(" ", "-"),
        f"b{BREADCRUMB_WEIGHT:g}",
        f"t{TEXT_WEIGHT:g}",
    ]
)

# SQLite's virtual machine steps between two looks at the clock: a limit of 50 ms is kept to some 6 ms.
_STEPS = 2_000

_BM25 = "bm25(chunks_fts, 0.0, 0.0, ?, ?)"
_BEST = (
    "SELECT rowid, {bm25} AS score FROM chunks_fts WHERE chunks_fts MATCH ? {clause} ORDER BY score LIMIT ?"
)
_BEST_BY_ID = (
    "SELECT f.rowid, f.score FROM (SELECT rowid, {bm25} AS score FROM chunks_fts"
    " WHERE chunks_fts MATCH ? {clause}) f JOIN chunks c ON c.chunk = f.rowid"
    " ORDER BY f.score, c.chunk_id LIMIT ?"
)
_ALSO = "AND rowid IN (SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?)"
_COUNT = "SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH ? {clause}"
_CHUNK_IDS = "SELECT c.chunk, c.chunk_id FROM json_each(?) v CROSS JOIN chunks c ON c.chunk = v.value"
_SNIPPET = (
    "SELECT snippet(chunks_fts, 3, ?, ?, '…', ?) FROM chunks_fts WHERE chunks_fts MATCH ?"
    " AND rowid = (SELECT chunk FROM chunks WHERE chunk_id = ?)"
)
_FREQUENCY = "SELECT doc FROM chunks_vocab WHERE term = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A query as match expressions."""

    #: Every term, or the raw expression.
    every: str
    #: The content terms, all of them: `every` without its stop words.
    content: str
    #: Any of the content terms; '' where relaxing adds nothing.
    some: str
    is_raw: bool

    @property
    def widest(self) -> str:
        """The expression that every hit matches, for snippets."""
        return self.some or self.every


class LexicalLeg:
    """One query against the mirror of one workspace. Safe to call from another thread than made it."""

    def __init__(
        self, files: MirrorFiles, pool: ReaderPool, scope: Scope, text: str, *, limit_s: float
    ) -> None:
        self._files = files
        self._pool = pool
        self._scope = scope
        self._text = text
        self._limit_s = limit_s
        self._deadline = 0.0
        self.match: Match | None = None
        #: The number that the mirror had come to when it answered; None until then.
        self.seq: int | None = None
        self.total: LexicalTotal | None = None

    def search(self, limit: int) -> list[Candidate]:
        """Give up to `limit` candidates: tier, then bm25 of the relaxed expression, then chunk id.

        Raises InvalidQuery for raw syntax that FTS5 refuses, LegTimeout with what was found in time.
        """
        try:
            with self._reading() as connection:
                return self._search(connection, limit)
        except MirrorError as error:
            raise LegTimeout(f"The mirror of this node is not ready: {error}") from error

    def snippets(self, chunk_ids: Sequence[str], snippet_chars: int) -> dict[str, str]:
        """Give the marked snippet of each chunk that the query's words are found in, by chunk id."""
        if self.match is None:
            return {}
        found: dict[str, str] = {}
        try:
            with self._reading() as connection:
                for chunk_id in chunk_ids:
                    row = connection.execute(
                        _SNIPPET,
                        (OPEN_MARK, CLOSE_MARK, snippet_words(snippet_chars), self.match.widest, chunk_id),
                    ).fetchone()
                    if row is not None:
                        found[chunk_id] = row[0]
        except (MirrorError, apsw.InterruptError):
            pass  # the text from Postgres serves as well
        return found

    @contextmanager
    def _reading(self) -> Iterator[apsw.Connection]:
        self._deadline = time.monotonic() + self._limit_s
        path = self._files.current()
        try:
            with self._pool.reader(path) as connection:
                connection.set_progress_handler(self._is_late, _STEPS)
                bind_path_filter(connection, self._scope.filters.path_glob)
                connection.execute("BEGIN")
                try:
                    yield connection
                finally:
                    connection.set_progress_handler(None)
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
        except MirrorDamaged as damage:
            logger.error("mirror of %s is withdrawn: %s", self._scope.workspace_id, damage)
            self._files.withdraw(path)
            self.seq = None
            raise

    def _is_late(self) -> bool:
        return time.monotonic() > self._deadline

    def _search(self, connection: apsw.Connection, limit: int) -> list[Candidate]:
        self.seq = applied_seq(connection)
        self.match = self._compile(connection)
        if self.match is None:
            return []
        clause = filter_clause(self._scope)
        found: list[Candidate] = []
        try:
            found = self._all(connection, self.match, clause, limit)
            self.total = self._count(connection, self.match, clause, found, limit)
            if len(found) < limit and self.match.some:
                found += self._some(connection, self.match, clause, found, limit)
        except apsw.InterruptError as error:
            if self.match.is_raw:
                raise InvalidQuery("The raw query takes too long; make it more selective.") from error
            raise LegTimeout("The lexical leg ran out of time.", partial=found) from error
        except apsw.SQLError as error:
            raise InvalidQuery(f"{shown(self._text)} is not FTS5 syntax: {error}. Mend it.") from error
        return found

    def _compile(self, connection: apsw.Connection) -> Match | None:
        parsed = parse_query(self._text)
        if parsed.is_empty:
            return None
        if parsed.raw is not None:
            check_prefixes(parsed.raw)
            return Match(every=parsed.raw, content=parsed.raw, some="", is_raw=True)
        terms = cap_terms(parsed.terms, lambda term: _document_frequency(connection, term))
        content = content_terms(terms)
        every, some = compile_all(terms), compile_any(content)
        if not every:
            return None
        return Match(
            every=every, content=compile_all(content), some=some if some != every else "", is_raw=False
        )

    def _all(self, connection: apsw.Connection, match: Match, clause: Clause, limit: int) -> list[Candidate]:
        """Chunks with every term, scored by the content terms alone, as the relaxed list is."""
        if match.content != match.every:
            clause = Clause(f"{_ALSO} {clause.sql}", (match.every, *clause.values))
        return _best(connection, match.content, clause, limit, None if match.is_raw else "all")

    def _some(
        self,
        connection: apsw.Connection,
        match: Match,
        clause: Clause,
        found: Sequence[Candidate],
        limit: int,
    ) -> list[Candidate]:
        present = {candidate.chunk_id for candidate in found}
        relaxed = _best(connection, match.some, clause, limit, "some")
        behind = [candidate for candidate in relaxed if candidate.chunk_id not in present]
        return behind[: limit - len(found)]

    def _count(
        self,
        connection: apsw.Connection,
        match: Match,
        clause: Clause,
        found: Sequence[Candidate],
        limit: int,
    ) -> LexicalTotal:
        value = len(found)
        if value >= limit:
            sql = _COUNT.format(clause=clause.sql)
            value = connection.execute(sql, (match.every, *clause.values)).fetchone()[0]
        relation = "gte" if len(found) < limit and match.some else "eq"
        return LexicalTotal(value=value, relation=relation)


def _best(
    connection: apsw.Connection, expression: str, clause: Clause, limit: int, tier: Tier | None
) -> list[Candidate]:
    """The best `limit` matches. The plain order breaks ties by row; only a tie across the end needs ids."""
    values = (BREADCRUMB_WEIGHT, TEXT_WEIGHT, expression, *clause.values)
    rows = list(connection.execute(_BEST.format(bm25=_BM25, clause=clause.sql), (*values, limit + 1)))
    if len(rows) > limit and rows[limit][1] == rows[limit - 1][1]:
        by_id = _BEST_BY_ID.format(bm25=_BM25, clause=clause.sql)
        rows = list(connection.execute(by_id, (*values, limit)))
    rows = rows[:limit]
    ids = dict(connection.execute(_CHUNK_IDS, (f"[{','.join(str(row) for row, _ in rows)}]",)))
    ranked = sorted((score, ids[row]) for row, score in rows)
    return [Candidate(chunk_id=id_, score=lexical_score(score), tier=tier) for score, id_ in ranked]


def _document_frequency(connection: apsw.Connection, term: str) -> int:
    """How many chunks hold the rarest token of `term`."""
    tokenizer = connection.fts5_tokenizer(*_tokenizer_and_arguments())
    tokens = tokenizer(term.encode(), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False)
    counts = [_frequency(connection, token) for group in tokens for token in group]
    return min(counts, default=0)


def _frequency(connection: apsw.Connection, token: str) -> int:
    row = connection.execute(_FREQUENCY, (token,)).fetchone()
    return int(row[0]) if row else 0


def _tokenizer_and_arguments() -> tuple[str, list[str]]:
    name, *arguments = schema.TOKENIZER.split()
    return name, arguments
