"""The exact leg: chunks with a phrase, name or number of the query verbatim, definitions first."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import apsw
import numpy as np

from search.analysis import is_prefix
from search.metrics import DEGRADED, LEG_SECONDS, stage
from search.mirror.postings import take_best
from search.mirror.query.raw_match import bm25_call, bm25_values
from search.mirror.query.spelling import Vocabulary
from search.mirror.query.view import MirrorView
from search.retrieval.code.definitions import (
    IndexedPassage,
    NameQuery,
    has_definition,
    has_name,
    rank_namesakes,
    rank_passages,
    split_member,
)
from search.retrieval.fusion.legs import LegName, LegResult, pack_ids, unpack_ids
from search.retrieval.fusion.scores import lexical_scores
from search.retrieval.query.exact import (
    ALONE_WEIGHT,
    MIXED_WEIGHT,
    exact_terms,
    exact_weight,
    lone_name,
    number_names,
)
from search.retrieval.query.match_units import quote_term
from search.retrieval.query.titles import breadcrumb_of, label, title_keys
from search.retrieval.text.unicode_scripts import has_token

# Factor on the limit for scored rows, so that most ties with the last one are among them.
_EQUALS = 4
# Texts that are compared verbatim, over all names of a query.
_READ = 160
# A name that is a plain word of more chunks than this is looked for in headings and declarations alone.
_COMMON = 5_000
_PATH_SIGN = "/"
# A name is compared as it is written: stems of other languages find nothing more.
_LITERAL = "en"
# Keywords before a name that code declares, and before the name of a container of others.
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
# Weights of breadcrumb and text.
_IN_HEADINGS, _ANYWHERE, _IN_BOTH = (1.0, 0.0), (1.0, 1.0), (2.0, 1.0)
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
_TITLED = (
    "SELECT c.chunk, c.chunk_id, d.lang, d.title_key NOT IN (SELECT value FROM json_each(?1))"
    " FROM documents d CROSS JOIN chunks c ON c.chunk_id = d.first_chunk"
    " WHERE d.title_key IN (SELECT value FROM json_each(?1))"
    " OR d.name_key IN (SELECT value FROM json_each(?1)) LIMIT ?2"
)
_LABELLED = (
    "SELECT c.chunk, c.chunk_id, d.lang, 2 FROM documents d CROSS JOIN chunks c ON c.chunk_id = d.first_chunk"
    " WHERE d.title_key BETWEEN ?1 AND ?1 || char(0x10FFFF) LIMIT ?2"
)
# Of more documents with the same beginning of their titles none is meant more than the others.
_MAX_LABELLED = 3
# Order by id, not by row, where the limit cuts: another build of the mirror has other rows.
_BY_ID = "(SELECT o.chunk_id FROM chunks o WHERE o.chunk = chunks_fts.rowid)"
_IN_ORDER = f"ORDER BY {_BY_ID}"
_BY_LEAST_ID = (
    "SELECT chunk FROM chunks WHERE chunk IN (SELECT value FROM json_each(?)) ORDER BY chunk_id LIMIT ?"
)
_BEST_IN_ORDER = f"ORDER BY {{bm25}}, {_BY_ID}"
# One statement for all rows: one per row took half of the leg's time.
_PASSAGES = (
    "SELECT r.value, f.chunk_id, f.breadcrumb, f.text, d.media, d.lang FROM json_each(?) r"
    " CROSS JOIN chunks_fts f ON f.rowid = r.value CROSS JOIN chunks c ON c.chunk = r.value"
    " CROSS JOIN documents d ON d.doc = c.doc"
)


class ExactLeg:
    """The exact search of one query in one workspace's mirror."""

    name: ClassVar[LegName] = "exact"
    runs_in_calling_thread: ClassVar[bool] = False
    is_skipped_when_empty: ClassVar[bool] = True

    def __init__(
        self, view: MirrorView, text: str, *, is_unfinished: bool = False, is_checked: bool = False
    ) -> None:
        """Create the leg; `is_checked` says that what the mirror shows is visible.

        The last word of an unfinished query may be the beginning of one in a title.
        """
        self.is_checked = is_checked
        self._view = view
        self._names = exact_terms(text)
        numbers = number_names(text, view.analysis)
        self._numbers = tuple(numbers.values())
        self._word = None if self._names or numbers else lone_name(text)
        self._title_keys = title_keys(text)
        self._label = label(text, is_unfinished=is_unfinished)
        weight = exact_weight(text, self._names, numbers) if self._names or numbers else MIXED_WEIGHT
        #: Weight of this leg in the fusion.
        self.weight = ALONE_WEIGHT if self.titled else weight

    @property
    def has_names(self) -> bool:
        """Return whether the query has a name, a number or a lone word to look for, or is a title."""
        return bool(self._names or self._numbers) or self._word is not None or bool(self.titled)

    @cached_property
    def titled(self) -> list[str]:
        """The first chunks of the documents whose title, or file name, is the query, by id.

        Also of those whose title begins with it, if it is unfinished or has a number, and they are few.
        """
        if not self._title_keys:
            return []
        found = self._read_passing(_TITLED, json.dumps(self._title_keys))
        labelled = self._read_passing(_LABELLED, self._label) if self._label else []
        if len(labelled) <= _MAX_LABELLED:
            found += labelled
        main = self._view.collection.main_language(self._view.connection) if len(found) > 1 else ""
        best = sorted((place, lang != main, chunk_id) for _, chunk_id, lang, place in found)
        return list(dict.fromkeys(chunk_id for _, _, chunk_id in best))

    def _read_passing(self, statement: str, value: str) -> list[tuple[Any, ...]]:
        """Return the rows of a statement whose chunks pass the filters."""
        found: list[tuple[Any, ...]] = self._view.connection.execute(statement, (value, _READ)).fetchall()
        if not found:
            return []
        passes = self._view.passes[np.array([row for row, *_ in found], np.int64)]
        return [each for each, passing in zip(found, passes.tolist(), strict=True) if passing]

    @cached_property
    def _sought(self) -> dict[str, NameQuery]:
        return {name: NameQuery(name) for name in self._names}

    def search(self, limit: int) -> LegResult:
        """Return up to `limit` candidates: definitions and documentation of a name, then other mentions.

        Those found in time if the time is up. Raises MirrorDamaged.
        """
        passages: dict[int, IndexedPassage] = {}
        numbered: dict[str, float] = {}
        is_complete = True
        with stage(self.name, LEG_SECONDS):
            try:
                with self._view.limited_time():
                    search = _Search(self._view, passages, self._sought)
                    if self._numbers:
                        numbered = search.find_numbered(self._numbers, limit)
                    if self._word is not None:
                        search.read_namesakes(self._word)
                    for name in self._names:
                        self._view.raise_if_late()
                        search.read_name(name, _READ // len(self._names) // 2)
                    search.mark_languages()
            except apsw.InterruptError:
                DEGRADED.add(self.name, "out_of_time")
                is_complete = False
            found = self._rank(passages.values(), numbered, limit)
        return LegResult(
            ids=pack_ids(chunk_id for chunk_id, _ in found),
            scores=np.fromiter((strength for _, strength in found), np.float64, len(found)),
            is_complete=is_complete,
            is_available=is_complete or bool(found),
            is_decisive=bool(numbered),
        )

    def _rank(
        self, passages: Iterable[IndexedPassage], numbered: Mapping[str, float], limit: int
    ) -> list[tuple[str, float]]:
        found = (
            rank_passages(list(self._sought.values()), passages)
            if self._word is None
            else rank_namesakes(self._word, passages)
        )
        if numbered:
            found = self._rank_numbered(dict(found), numbered)
        others = [each for each in found if each[0] not in self.titled]
        return [*((chunk_id, 1.0) for chunk_id in self.titled), *others][:limit]

    def _rank_numbered(
        self, named: Mapping[str, float], numbered: Mapping[str, float]
    ) -> list[tuple[str, float]]:
        """Return the chunks with names and numbers, by the mean of their strengths."""
        names, numbers = len(self._names), len(self._numbers)
        strengths = [
            (id_, (names * named.get(id_, 0.0) + numbers * numbered.get(id_, 0.0)) / (names + numbers))
            for id_ in {**numbered, **named}
        ]
        return sorted(strengths, key=lambda one: (-one[1], one[0]))


class _Search:
    """A search that reads passages which may have the names into `passages`, by row."""

    def __init__(
        self, view: MirrorView, passages: dict[int, IndexedPassage], sought: Mapping[str, NameQuery]
    ) -> None:
        self._view = view
        self._sought = sought
        self._connection = view.connection
        self._narrowed = view.narrowed_collection
        self._vocabulary = Vocabulary(view)
        self._passages = passages
        self._langs: dict[int, str] = {}

    def read_namesakes(self, word: str) -> None:
        if not word.istitle():
            self._read_passages(self._find_best(word, _headings_expression(word), _READ))
        self._read_passages(self._find_declarations(word, _READ))

    def find_numbered(self, numbers: Sequence[tuple[str, ...]], limit: int) -> dict[str, float]:
        """Return the ids of chunks with any of the numbers, each with its strength in (0, 1].

        That is the mean over the numbers of one half, and the other by bm25. `numbers` are their terms.
        """
        collection = self._view.collection
        found = collection.score_words(self._connection, numbers, _IN_BOTH)
        strengths = np.zeros(len(self._view.passes))
        for each in found.values():
            rows, scores = each.all_scores()
            strengths[rows] += (1.0 + lexical_scores(scores)) / (2 * len(numbers))
        rows = np.flatnonzero((strengths > 0) & self._view.passes)
        best, sums = take_best(rows, strengths[rows], collection.chunks.ids, limit)
        return dict(zip(unpack_ids(collection.chunks.ids[best]), sums.tolist(), strict=True))

    def read_name(self, name: str, limit: int) -> None:
        """Read headings, then mentions, then declarations and members until a definition is found."""
        self._read_passages(
            self._find_best(
                name, _headings_expression(name), limit, _parts_expression(name, "breadcrumb : ({} AND {})")
            )
        )
        is_defined = has_definition(self._sought[name], self._passages.values())
        anywhere = []
        if not self._is_common_word(name):
            anywhere = self._find_best(
                name, _anywhere_expression(name), limit, _parts_expression(name, "{} AND {}")
            )
            self._read_passages(anywhere)
        if not is_defined and (len(anywhere) == limit or not self._contain_name(name, anywhere)):
            self._read_passages(self._find_declarations(name, limit))
        below = None if is_defined else split_member(name)
        if below is not None and all(map(has_token, below)):
            found = self._find_first(
                _BELOW, (quote_term(below[1]), _any_phrase_expression(_CONTAINING, below[0])), limit
            )
            self._read_passages(found)
            for row in found:
                known = self._passages[row]
                self._passages[row] = replace(known, below=known.below | {name})

    def _contain_name(self, name: str, rows: Iterable[int]) -> bool:
        return has_name(self._sought[name], (self._passages[row] for row in rows))

    def mark_languages(self) -> None:
        """Mark each passage that is not in the language of most documents."""
        if len(set(self._langs.values())) < 2:
            return
        main = self._view.collection.main_language(self._connection)
        for row, lang in self._langs.items():
            if lang != main:
                self._passages[row].in_main_language = False

    def _is_common_word(self, name: str) -> bool:
        """Return whether the index can't distinguish the name from a common word, as `astro()` or `or_`."""
        tokens = self._view.analysis.query_tokens(name)
        return len(tokens) == 1 and self._vocabulary.chunk_counts(tokens).get(tokens[0], 0) > _COMMON

    def _find_declarations(self, name: str, limit: int) -> list[int]:
        """Return up to `limit` rows in which a keyword stands before the name; no code declares a path."""
        if _PATH_SIGN in name:
            return []
        return self._find_first(_ANY, (_any_phrase_expression(_DECLARING, name),), limit)

    def _find_best(self, name: str, expression: str, limit: int, wider: str | None = None) -> list[int]:
        """Return the best `limit` rows of `expression`, that of a name, in any order.

        Those of a single word are read from the posting lists. Else scores are computed only if needed: all
        matches of `expression` match `wider`, which is faster to evaluate, and with few matches suffices.
        """
        positions = self._view.analysis.query_terms(name, _LITERAL)
        if wider is None and len(positions) == 1 and not is_prefix(name):
            return self._find_best_of_word(positions[0], limit, in_headings=_is_in_headings(expression))
        for unscored in (wider, expression):
            found = self._execute(_ANY, (unscored,), limit + 1) if unscored else None
            if found is not None and len(found) <= limit:
                return [row for (row,) in found]
        weights = bm25_values(self._narrowed, _IN_HEADINGS if _is_in_headings(expression) else _ANYWHERE)
        scored = self._execute(_SCORED, (expression,), _EQUALS * limit, before=weights)
        last = scored[limit - 1][1]
        if scored[-1][1] == last and len(scored) == _EQUALS * limit:
            return self._find_in_order(_ANY, (expression,), *weights, limit, order=_BEST_IN_ORDER)
        better = [row for row, score in scored if score < last]
        return better + self._take_least_ids(
            [row for row, score in scored if score == last], limit - len(better)
        )

    def _find_best_of_word(self, terms: tuple[str, ...], limit: int, *, in_headings: bool) -> list[int]:
        collection = self._view.collection
        weights = _IN_HEADINGS if in_headings else _ANYWHERE
        found = collection.score_words(self._connection, [terms], weights)[terms]
        rows, scores = found.all_scores()
        matches = self._view.passes[rows] & (scores > 0)
        best, _ = take_best(rows[matches], scores[matches], collection.chunks.ids, limit)
        return [int(row) for row in best]

    def _take_least_ids(self, rows: list[int], limit: int) -> list[int]:
        """Return the `limit` of `rows` with the least ids."""
        if len(rows) <= limit:
            return rows
        in_order = self._connection.execute(_BY_LEAST_ID, (json.dumps(rows), limit))
        return [row for (row,) in in_order]

    def _find_first(self, statement: str, matched: tuple[str, ...], limit: int) -> list[int]:
        """Return up to `limit` rows of a statement, those with the least ids."""
        found = self._execute(statement, matched, limit + 1)
        if len(found) > limit:
            return self._find_in_order(statement, matched, limit, order=_IN_ORDER)
        return [row for (row,) in found]

    def _find_in_order(
        self, statement: str, matched: tuple[str, ...], *values: object, order: str
    ) -> list[int]:
        return [row for (row,) in self._execute(statement, matched, *values, order=order)]

    def _execute(
        self,
        statement: str,
        matched: tuple[str, ...],
        *values: object,
        before: tuple[object, ...] = (),
        order: str = "",
    ) -> list[tuple[Any, ...]]:
        """Return a statement's rows; it binds `before`, `matched` and `values`."""
        bm25 = bm25_call(self._narrowed)
        sql = statement.format(clause=self._view.clause, bm25=bm25, order=order.format(bm25=bm25))
        return list(self._connection.execute(sql, (*before, *matched, *values)))

    def _read_passages(self, rows: Iterable[int]) -> None:
        """Read those of `rows` that have not been read yet."""
        unread = [row for row in dict.fromkeys(rows) if row not in self._passages]
        if not unread:
            return
        for row, chunk_id, headings, text, media, lang in self._connection.execute(
            _PASSAGES, (json.dumps(unread),)
        ):
            self._langs[row] = lang
            self._passages[row] = IndexedPassage(
                chunk_id=chunk_id, breadcrumb=breadcrumb_of(headings), text=text, is_code=media == "code"
            )


def _is_in_headings(expression: str) -> bool:
    return expression.startswith("breadcrumb :")


def _headings_expression(name: str) -> str:
    return (
        f"breadcrumb : ({' OR '.join([_phrase_expression(name), *_member_expressions(name, '({} AND {})')])})"
    )


def _anywhere_expression(name: str) -> str:
    return " OR ".join([_phrase_expression(name), *_member_expressions(name, "(breadcrumb : {} AND {})")])


def _phrase_expression(name: str) -> str:
    return f"{quote_term(name)} *" if is_prefix(name) else quote_term(name)


def _member_expressions(name: str, form: str) -> list[str]:
    """Return the expression for a name's last part within its container; none without a container."""
    below = split_member(name)
    if below is None or not all(map(has_token, below)):
        return []
    return [form.format(*map(quote_term, below))]


def _parts_expression(name: str, form: str) -> str | None:
    """Return the expression for a name's container and last part in any place; None without a container."""
    return next(iter(_member_expressions(name, form)), None) if not is_prefix(name) else None


def _any_phrase_expression(words: Iterable[str], name: str) -> str:
    return " OR ".join(quote_term(f"{word} {name}") for word in words)
