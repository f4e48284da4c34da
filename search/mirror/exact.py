"""The exact leg: chunks that have a quoted phrase or a name of the query to the letter, definitions first."""

import apsw

from search.mirror.errors import MirrorError
from search.mirror.filters import Clause, filter_clause
from search.mirror.reading import MirrorReading
from search.retrieval.definitions import Passage, member_of, rank_passages
from search.retrieval.errors import LegTimeout
from search.retrieval.exact import exact_terms
from search.retrieval.match import in_columns, quoted
from search.retrieval.scripts import has_token
from search.retrieval.types import Candidate

# Texts that are read to the letter, over all names of a query: first where a heading has one, then the others.
_READ = 400

_BEST = (
    "SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ? {clause}"
    " ORDER BY bm25(chunks_fts, 0.0, 0.0, ?, ?), rowid LIMIT ?"
)
_PASSAGE = "SELECT chunk_id, breadcrumb, text FROM chunks_fts WHERE rowid = ?"


class ExactLeg:
    """One query against the mirror of one workspace. Safe to call from another thread than made it."""

    def __init__(self, reading: MirrorReading, text: str) -> None:
        self._reading = reading
        #: What is looked for; without any there is nothing to ask.
        self.names = exact_terms(text)

    def search(self, limit: int) -> list[Candidate]:
        """Give up to `limit` candidates: where a name is defined or documented, then where it stands.

        Raises LegTimeout with what was found in time.
        """
        rows: dict[int, Passage] = {}
        is_complete = True
        try:
            with self._reading.connection() as connection:
                try:
                    for name in self.names:
                        self._read(connection, name, rows)
                except apsw.InterruptError:
                    is_complete = False
        except MirrorError as error:
            raise LegTimeout(f"The mirror of this node is not ready: {error}") from error
        ranked = rank_passages(self.names, rows.values())[:limit]
        found = [Candidate(chunk_id=chunk_id, score=strength) for chunk_id, strength in ranked]
        if not is_complete:
            raise LegTimeout("The exact leg ran out of time.", partial=found)
        return found

    def _read(self, connection: apsw.Connection, name: str, rows: dict[int, Passage]) -> None:
        """Add the passages that may have `name`: no more for one name than its share of all texts."""
        clause = filter_clause(self._reading.scope)
        share = _READ // len(self.names)
        best = _best(connection, _in_headings(name), clause, (1.0, 0.0), share)
        best += _best(connection, _anywhere(name), clause, (1.0, 1.0), share)
        for row in list(dict.fromkeys(best))[:share]:
            if row not in rows:
                chunk_id, breadcrumb, text = connection.execute(_PASSAGE, (row,)).fetchone()
                rows[row] = Passage(chunk_id=chunk_id, breadcrumb=breadcrumb, text=text)


def _best(
    connection: apsw.Connection, expression: str, clause: Clause, weights: tuple[float, float], limit: int
) -> list[int]:
    values = (expression, *clause.values, *weights, limit)
    return [row for (row,) in connection.execute(_BEST.format(clause=clause.sql), values)]


def _in_headings(name: str) -> str:
    return in_columns(" OR ".join([quoted(name), *_as_member(name, "{} {}")]), ["breadcrumb"])


def _anywhere(name: str) -> str:
    return " OR ".join([quoted(name), *_as_member(name, "(breadcrumb : {} AND {})")])


def _as_member(name: str, form: str) -> list[str]:
    """The expression of a name's last part below its container; none for a name without one."""
    below = member_of(name)
    if below is None or not all(map(has_token, below)):
        return []
    return [form.format(*map(quoted, below))]
