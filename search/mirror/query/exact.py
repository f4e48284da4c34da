"""The exact leg: chunks that have a quoted phrase or a name of the query to the letter, definitions first."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import apsw

from search.analysis import is_prefix
from search.mirror.errors import MirrorError
from search.mirror.query.bm25 import bm25_call, bm25_values
from search.mirror.query.reader import MirrorReading
from search.mirror.query.vocabulary import Vocabulary
from search.mirror.schema import analysis_of
from search.retrieval.code.definitions import (
    Passage,
    has_definition,
    has_name,
    member_of,
    rank_namesakes,
    rank_passages,
)
from search.retrieval.errors import LegTimeout
from search.retrieval.query.exact import BESIDE_WEIGHT, exact_terms, exact_weight, lone_name
from search.retrieval.query.match import quoted
from search.retrieval.text.unicode_scripts import has_token
from search.retrieval.types import Candidate

# Times as many rows are looked at as have room: all that score like the last of them are mostly there.
_EQUALS = 4
# Texts that are read to the letter, over all names of a query.
_READ = 160
# A name that is nothing but a word of more chunks is looked for in headings and declarations alone.
_COMMON = 5_000
# Words before a name that code declares, and before one that has others below it.
_DECLARING = (
    "def",
    "class",
    "function",
    "func",
    "fn",
    "define",
    "struct",
    "interface",
    "type",
    "enum",
    "const",
)
_CONTAINING = ("class", "struct", "interface", "impl", "trait", "enum", "module", "object", "type")

_ANY = "SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ? {clause} {order} LIMIT ?"
_SCORED = (
    "SELECT rowid, {bm25} AS score FROM chunks_fts WHERE chunks_fts MATCH ? {clause} ORDER BY score LIMIT ?"
)
_BELOW = (
    "SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ? AND EXISTS (SELECT 1 FROM chunks c"
    " WHERE c.chunk = chunks_fts.rowid AND c.doc IN (SELECT o.doc FROM chunks o WHERE o.chunk IN"
    " (SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?))) {clause} {order} LIMIT ?"
)
# Where not all have room, by id and not by row: a copy of the mirror that was made otherwise has other rows.
_BY_ID = "(SELECT o.chunk_id FROM chunks o WHERE o.chunk = chunks_fts.rowid)"
_IN_ORDER = f"ORDER BY {_BY_ID}"
_BY_LEAST_ID = (
    "SELECT chunk FROM chunks WHERE chunk IN (SELECT value FROM json_each(?)) ORDER BY chunk_id LIMIT ?"
)
_BEST_IN_ORDER = f"ORDER BY {{bm25}}, {_BY_ID}"
# In one statement: one for each row made up half of the leg's time.
_PASSAGES = (
    "SELECT r.value, f.chunk_id, f.breadcrumb, f.text, d.media, d.lang FROM json_each(?) r"
    " CROSS JOIN chunks_fts f ON f.rowid = r.value CROSS JOIN chunks c ON c.chunk = r.value"
    " CROSS JOIN documents d ON d.doc = c.doc"
)


class ExactLeg:
    """One query against the mirror of one workspace. Safe to call from another thread than made it."""

    def __init__(self, reading: MirrorReading, text: str) -> None:
        self._reading = reading
        self._names = exact_terms(text)
        self._word = None if self._names else lone_name(text)
        #: Of its list in the fusion.
        self.weight = exact_weight(text, self._names) if self._names else BESIDE_WEIGHT

    @property
    def has_names(self) -> bool:
        """Return whether there is anything to look for."""
        return bool(self._names) or self._word is not None

    def search(self, limit: int) -> list[Candidate]:
        """Give up to `limit` candidates: where a name is defined or documented, then where it stands.

        Raises LegTimeout with what was found in time.
        """
        passages: dict[int, Passage] = {}
        is_complete = True
        try:
            with self._reading.connection() as connection:
                search = _Search(self._reading, connection, passages)
                try:
                    if self._word is not None:
                        search.read_namesakes(self._word)
                    for name in self._names:
                        self._check_time()
                        search.read_name(name, _READ // len(self._names) // 2)
                    search.note_languages()
                except apsw.InterruptError:
                    is_complete = False
        except MirrorError:
            return []  # the lexical leg, which reads the same mirror, says so
        found = [Candidate(chunk_id=id_, score=strength) for id_, strength in self._ranked(passages.values())]
        if not is_complete:
            raise LegTimeout("The exact leg ran out of time.", partial=found[:limit])
        return found[:limit]

    def _check_time(self) -> None:
        if self._reading.is_late():
            raise apsw.InterruptError("The time of the leg is up.")

    def _ranked(self, passages: Iterable[Passage]) -> list[tuple[str, float]]:
        return (
            rank_passages(self._names, passages)
            if self._word is None
            else rank_namesakes(self._word, passages)
        )


class _Search:
    """Reads what may have the names into `passages`, by row."""

    def __init__(
        self, reading: MirrorReading, connection: apsw.Connection, passages: dict[int, Passage]
    ) -> None:
        self._connection = connection
        self._reading = reading
        self._narrowed = reading.narrowed_collection(connection)
        self._vocabulary = Vocabulary(reading, connection)
        self._clause = self._vocabulary.clause
        self._passages = passages
        self._langs: dict[int, str] = {}

    def read_namesakes(self, word: str) -> None:
        if not word.istitle():
            self._add(self._best(_in_headings(word), _READ))
        self._add(self._declared(word, _READ))

    def read_name(self, name: str, limit: int) -> None:
        """Look further only while nothing has been found that defines the name."""
        self._add(self._best(_in_headings(name), limit, wider=_parts(name, "breadcrumb : ({} AND {})")))
        is_defined = has_definition(name, self._passages.values())
        anywhere = []
        if not self._is_common_word(name):
            anywhere = self._best(_anywhere(name), limit, wider=_parts(name, "{} AND {}"))
            self._add(anywhere)
        if not is_defined and (len(anywhere) == limit or not self._have(name, anywhere)):
            self._add(self._declared(name, limit))
        below = None if is_defined else member_of(name)
        if below is not None and all(map(has_token, below)):
            found = self._first(_BELOW, (quoted(below[1]), _any_of(_CONTAINING, below[0])), limit)
            self._add(found)
            for row in found:
                known = self._passages[row]
                self._passages[row] = replace(known, below=known.below | {name})

    def _have(self, name: str, rows: Iterable[int]) -> bool:
        return has_name(name, (self._passages[row] for row in rows))

    def note_languages(self) -> None:
        """Say of each passage whether it is in the language that most documents are in."""
        if len(set(self._langs.values())) < 2:
            return
        main = self._reading.collection(self._connection).main_language(self._connection)
        for row, lang in self._langs.items():
            if lang != main:
                self._passages[row] = replace(self._passages[row], in_main_language=False)

    def _is_common_word(self, name: str) -> bool:
        """Return whether the index can't tell the name from a word of many chunks: `astro()`, `or_`."""
        tokens = analysis_of(self._connection).query_tokens(name)
        return len(tokens) == 1 and self._vocabulary.chunk_counts(tokens).get(tokens[0], 0) > _COMMON

    def _declared(self, name: str, limit: int) -> list[int]:
        each = limit // len(_DECLARING)
        return [row for word in _DECLARING for row in self._first(_ANY, (quoted(f"{word} {name}"),), each)]

    def _best(self, expression: str, limit: int, wider: str | None = None) -> list[int]:
        """Return the best `limit`, in any order; to score them takes as long as to find them.

        All that matches `expression` matches `wider`, which is found faster: where it has no more, it serves.
        """
        for unscored in (wider, expression):
            found = self._rows(_ANY, (unscored,), limit + 1) if unscored else None
            if found is not None and len(found) <= limit:
                return [row for (row,) in found]
        weights = bm25_values(self._narrowed, (1.0, 0.0) if _is_in_headings(expression) else (1.0, 1.0))
        scored = self._rows(_SCORED, (expression,), _EQUALS * limit, before=weights)
        last = scored[limit - 1][1]
        if scored[-1][1] == last and len(scored) == _EQUALS * limit:
            return self._ordered(_ANY, (expression,), *weights, limit, order=_BEST_IN_ORDER)
        better = [row for row, score in scored if score < last]
        return better + self._least([row for row, score in scored if score == last], limit - len(better))

    def _least(self, rows: list[int], limit: int) -> list[int]:
        """Return the `limit` of `rows` with the least ids."""
        if len(rows) <= limit:
            return rows
        in_order = self._connection.execute(_BY_LEAST_ID, (json.dumps(rows), limit))
        return [row for (row,) in in_order]

    def _first(self, statement: str, matched: tuple[str, ...], limit: int) -> list[int]:
        """Return `limit` of what a statement finds, those with the least ids where there are more."""
        found = self._rows(statement, matched, limit + 1)
        if len(found) > limit:
            return self._ordered(statement, matched, limit, order=_IN_ORDER)
        return [row for (row,) in found]

    def _ordered(self, statement: str, matched: tuple[str, ...], *values: object, order: str) -> list[int]:
        return [row for (row,) in self._rows(statement, matched, *values, order=order)]

    def _rows(
        self,
        statement: str,
        matched: tuple[str, ...],
        *values: object,
        before: tuple[object, ...] = (),
        order: str = "",
    ) -> list[tuple[Any, ...]]:
        """Return what a statement finds; its values are `before`, `matched`, the clause's, and the others."""
        bm25 = bm25_call(self._narrowed)
        sql = statement.format(clause=self._clause.sql, bm25=bm25, order=order.format(bm25=bm25))
        return list(self._connection.execute(sql, (*before, *matched, *self._clause.values, *values)))

    def _add(self, rows: Iterable[int]) -> None:
        """Read those of `rows` that have not been read."""
        unread = [row for row in dict.fromkeys(rows) if row not in self._passages]
        if not unread:
            return
        for row, chunk_id, breadcrumb, text, media, lang in self._connection.execute(
            _PASSAGES, (json.dumps(unread),)
        ):
            self._langs[row] = lang
            self._passages[row] = Passage(
                chunk_id=chunk_id, breadcrumb=breadcrumb, text=text, is_code=media == "code"
            )


def _is_in_headings(expression: str) -> bool:
    return expression.startswith("breadcrumb :")


def _in_headings(name: str) -> str:
    return f"breadcrumb : ({' OR '.join([_phrase(name), *_as_member(name, '({} AND {})')])})"


def _anywhere(name: str) -> str:
    return " OR ".join([_phrase(name), *_as_member(name, "(breadcrumb : {} AND {})")])


def _phrase(name: str) -> str:
    return f"{quoted(name)} *" if is_prefix(name) else quoted(name)


def _as_member(name: str, form: str) -> list[str]:
    """Return the expression of a name's last part below its container; none for a name without one."""
    below = member_of(name)
    if below is None or not all(map(has_token, below)):
        return []
    return [form.format(*map(quoted, below))]


def _parts(name: str, form: str) -> str | None:
    """Return what a name's container and last part match wherever they stand; None for a name without one."""
    return next(iter(_as_member(name, form)), None) if not is_prefix(name) else None


def _any_of(words: Iterable[str], name: str) -> str:
    return " OR ".join(quoted(f"{word} {name}") for word in words)
