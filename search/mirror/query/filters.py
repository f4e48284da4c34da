"""Search filters as SQL over a mirror. Values are bound; only constants are concatenated."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import apsw
import numpy as np

from search.access.scope import SearchScope, Sources
from search.mirror.postings import Collection
from search.mirror.query.conditions import meet_conditions
from search.retrieval.query.filters import SearchFilters
from search.retrieval.query.glob import compile_glob
from search.retrieval.query.metadata import MetadataCondition, MetadataTest
from search.retrieval.query.operators import Condition

_TAGGED = "EXISTS (SELECT 1 FROM document_tags t, json_each(?) v WHERE t.doc = d.doc AND t.tag = v.value)"
_MOMENTS = {
    "ingested_after": "d.indexed_at > ?",
    "dated_after": "d.dated_at >= ?",
    "dated_before": "d.dated_at < ?",
}
_OF_TAGS = "SELECT t.doc FROM document_tags t, json_each(?) v WHERE t.tag = v.value"
_PATH = "path_fits(d.path)"
_NOT_PATH = "NOT path_left_out(d.path)"
_IN = {
    "lang": "d.lang IN (SELECT value FROM json_each(?))",
    "trust": "d.trust_level IN (SELECT value FROM json_each(?))",
    "media": "d.media IN (SELECT value FROM json_each(?))",
    "author": "d.author IN (SELECT value FROM json_each(?))",
    "doc_id": "d.doc_id IN (SELECT value FROM json_each(?))",
    "source": "d.source_key IN (SELECT value FROM json_each(?))",
    "version": "d.version_tag IN (SELECT value FROM json_each(?))",
}
_KIND = "c.kind IN (SELECT value FROM json_each(?))"
_CODE_LANG = "c.code_lang IN (SELECT value FROM json_each(?))"
_IN_LANGUAGES = (
    "SELECT chunk FROM chunks WHERE code_lang <> '' AND code_lang IN (SELECT value FROM json_each(?))"
)
# EXISTS is evaluated for each match. With `rowid IN (…)` SQLite runs the MATCH once for every row that
# passes: a filter that 70,000 chunks pass took 3 s instead of 0.8 ms.
_PASSES = (
    "AND EXISTS (SELECT 1 FROM chunks c JOIN documents d ON d.doc = c.doc"
    " WHERE c.chunk = chunks_fts.rowid AND "
)
_DOCUMENTS = "SELECT d.doc FROM documents d WHERE "
_LISTED = "SELECT group_concat(doc) FROM ({select})"
_WITH_VALUE = "SELECT v.doc FROM document_values v WHERE {condition}"


@dataclass(frozen=True, slots=True)
class DocumentCondition:
    """A condition on a document `d`, and how to find the documents that meet it."""

    sql: str
    values: tuple[str | float, ...] = ()
    #: Selects the rows of documents without reading each; '' for a condition that needs to.
    select: str = ""
    #: Whether `select` finds those that don't meet it.
    is_negated: bool = False
    #: The path patterns that the SQL's functions know.
    patterns: tuple[str, ...] = ()
    #: Conditions of which all of one alternative hold.
    alternatives: "tuple[tuple[DocumentCondition, ...], ...]" = ()

    def mask(self, connection: apsw.Connection, count: int) -> np.ndarray:
        """Return (count,) bool by document row, whether the document meets it."""
        if self.alternatives:
            either = np.zeros(count, bool)
            for one in self.alternatives:
                both = np.ones(count, bool)
                for each in one:
                    both &= each.mask(connection, count)
                either |= both
            return either
        # One text is read four times as fast as a row for each document.
        sql = _LISTED.format(select=self.select or _DOCUMENTS + self.sql)
        listed = connection.execute(sql, self.values).get
        found = np.fromstring(listed or "", np.int64, sep=",")
        meets = np.full(count, self.is_negated)
        meets[found[found < count]] = not self.is_negated
        return meets


@dataclass(frozen=True, slots=True)
class Clause:
    """Conditions on a document `d`, and kinds and languages of chunks; empty for none."""

    on_document: tuple[DocumentCondition, ...] = ()
    kinds: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    #: Of typed operators; for `mask` only.
    typed: tuple[Condition, ...] = ()

    @property
    def sql(self) -> str:
        """Return the SQL to append to a MATCH on chunks_fts: empty, or `AND EXISTS (…)`."""
        return f"{_PASSES}{self.condition})" if self.condition else ""

    @property
    def condition(self) -> str:
        """Return the condition on a chunk `c` and its document `d`; empty for none."""
        conditions = [condition.sql for condition in self.on_document]
        return " AND ".join([*conditions, *(sql for sql, _ in self._on_chunk)])

    @property
    def values(self) -> tuple[str | float, ...]:
        """Return the values that `sql` or `condition` binds."""
        on_document = (value for condition in self.on_document for value in condition.values)
        return (*on_document, *(json.dumps(values) for _, values in self._on_chunk))

    @property
    def _on_chunk(self) -> list[tuple[str, tuple[str, ...]]]:
        return [each for each in ((_KIND, self.kinds), (_CODE_LANG, self.languages)) if each[1]]

    def mask(self, connection: apsw.Connection, collection: Collection) -> np.ndarray:
        """Return (n,) bool, whether the chunk at each row of a collection passes."""
        chunks = collection.chunks
        passes = chunks.docs != 0
        for condition in self.on_document:
            passes &= collection.mask(connection, condition)
        if self.languages:
            written = np.zeros(len(passes), bool)
            rows = connection.execute(_IN_LANGUAGES, (json.dumps(self.languages),))
            found = np.fromiter((row for (row,) in rows), np.int64)
            written[found[found < len(written)]] = True
            passes &= written
        if self.typed:
            passes &= meet_conditions(connection, chunks, self.typed)
        fitting: np.ndarray = passes & chunks.are_of(self.kinds) if self.kinds else passes
        return fitting


def filter_clause(scope: SearchScope) -> Clause:
    """Return the clause for the chunks in `scope`."""
    return _build_clause(scope, scope.sources)


def collection_clause(scope: SearchScope) -> Clause:
    """Return the clause for the chunks in `scope`, given the collection that its reader may read.

    For `Clause.mask` on that collection's table only, which already excludes all other sources.
    """
    return _build_clause(scope, scope.sources if scope.filters.source else None)


def source_clause(scope: SearchScope) -> Clause:
    """Return the clause for the chunks of the sources in `scope`, without its other filters."""
    return Clause() if scope.sources is None else Clause((_one_of("source", scope.sources.keys),))


def _build_clause(scope: SearchScope, sources: Sources | None) -> Clause:
    filters = scope.filters
    lists = {
        "lang": filters.lang,
        "trust": filters.trust_min.or_better() if filters.trust_min else (),
        "media": filters.media,
        "author": filters.author,
        "doc_id": filters.doc_id,
        "version": scope.version_tags,
    }
    conditions = [_one_of(name, values) for name, values in lists.items() if values]
    if sources is not None:
        conditions.append(_one_of("source", sources.keys))
    if filters.tags_any:
        conditions.append(DocumentCondition(_TAGGED, (json.dumps(list(filters.tags_any)),), select=_OF_TAGS))
    if filters.path_glob:
        conditions.append(DocumentCondition(_PATH, patterns=filters.path_glob))
    if filters.path_not_glob:
        conditions.append(DocumentCondition(_NOT_PATH, patterns=filters.path_not_glob))
    for name, sql in _MOMENTS.items():
        moment = getattr(filters, name)
        if moment is not None:
            conditions.append(DocumentCondition(sql, (moment.timestamp(),)))
    conditions += [each for condition in filters.metadata for each in _on_metadata(condition)]
    typed = () if scope.operators is None else scope.operators.conditions
    return Clause(tuple(conditions), filters.kind, filters.code_lang_names, typed)


def _one_of(name: str, values: Sequence[str]) -> DocumentCondition:
    return DocumentCondition(_IN[name], (json.dumps(list(values)),))


def _on_metadata(condition: MetadataCondition) -> list[DocumentCondition]:
    """Return what a document must all meet."""
    if not condition.alternatives:
        return [_passing(test) for test in condition.tests]
    alternatives = tuple(
        tuple(each for one in found for each in _on_metadata(one)) for found in condition.alternatives
    )
    sql = " OR ".join(f"({' AND '.join(each.sql for each in one)})" for one in alternatives)
    values = tuple(value for one in alternatives for each in one for value in each.values)
    return [DocumentCondition(f"({sql})", values, alternatives=alternatives)]


def _passing(test: MetadataTest) -> DocumentCondition:
    condition, values = test.as_sql()
    select = _WITH_VALUE.format(condition=condition)
    is_in = "NOT IN" if test.is_negated else "IN"
    return DocumentCondition(f"d.doc {is_in} ({select})", values, select=select, is_negated=test.is_negated)


def bind_path_filters(connection: apsw.Connection, filters: SearchFilters) -> None:
    """Register `path_fits(path)` and `path_left_out(path)` for the path filters."""
    for name, patterns in (("path_fits", filters.path_glob), ("path_left_out", filters.path_not_glob)):
        if patterns:  # else no statement uses the function
            fits: Any = _fits_any(patterns)
            connection.create_scalar_function(name, fits, 1, deterministic=True)


def _fits_any(patterns: Sequence[str]) -> Callable[[str], bool]:
    globs = [compile_glob(pattern) for pattern in patterns]
    return lambda path: any(glob.matches(path) for glob in globs)
