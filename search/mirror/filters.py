"""Search filters as SQL over a mirror. Values are bound, lists as JSON; only constants are put together."""

import json
from dataclasses import dataclass

import apsw
import numpy as np

from search.retrieval.glob import compile_glob
from search.scope import Scope

_TAGGED = "EXISTS (SELECT 1 FROM document_tags t, json_each(?) v WHERE t.doc = d.doc AND t.tag = v.value)"
_AFTER = "d.indexed_at > ?"
_PATH = "path_fits(d.path)"
_IN = {
    "lang": "d.lang IN (SELECT value FROM json_each(?))",
    "trust": "d.trust_level IN (SELECT value FROM json_each(?))",
    "media": "d.media IN (SELECT value FROM json_each(?))",
    "doc_id": "d.doc_id IN (SELECT value FROM json_each(?))",
    "source": "d.source_key IN (SELECT value FROM json_each(?))",
    "version": "d.version_tag IN (SELECT value FROM json_each(?))",
    "kind": "c.kind IN (SELECT value FROM json_each(?))",
}
_CHUNKS = "SELECT c.chunk FROM chunks c JOIN documents d ON d.doc = c.doc WHERE "
_DOCUMENTS = "SELECT d.doc FROM documents d WHERE "


@dataclass(frozen=True, slots=True)
class Clause:
    """The conditions on chunk `c` and document `d`, empty for none, with the values they bind."""

    conditions: str
    values: tuple[str | float, ...]

    @property
    def sql(self) -> str:
        """What follows a MATCH: empty, or `AND rowid IN (…)`."""
        return f"AND rowid IN ({_CHUNKS}{self.conditions})" if self.conditions else ""

    def mask(self, connection: apsw.Connection, docs: np.ndarray) -> np.ndarray:
        """Give (n,) bool, whether each chunk passes; `docs` (n,) are the documents' rows, by chunk row."""
        if not self.conditions:
            return docs != 0
        if "c.kind" in self.conditions:
            mask = np.zeros(len(docs), bool)
            mask[_rows(connection, _CHUNKS + self.conditions, self.values)] = True
            return mask
        passing = np.zeros(int(docs.max(initial=0)) + 1, bool)
        found = _rows(connection, _DOCUMENTS + self.conditions, self.values)
        passing[found[found < len(passing)]] = True
        return passing[docs]


def filter_clause(scope: Scope) -> Clause:
    """Give the clause that keeps the chunks in `scope`."""
    filters = scope.filters
    lists = {
        "lang": filters.lang,
        "trust": filters.trust_min.or_better() if filters.trust_min else (),
        "media": filters.media,
        "doc_id": filters.doc_id,
        "kind": filters.kind,
        "source": scope.source_keys,
        "version": scope.version_tags,
    }
    wanted: list[tuple[str, tuple[str | float, ...]]] = [
        (_IN[name], (json.dumps(list(values)),)) for name, values in lists.items() if values
    ]
    if filters.tags_any:
        wanted.append((_TAGGED, (json.dumps(list(filters.tags_any)),)))
    if filters.path_glob:
        wanted.append((_PATH, ()))
    if filters.ingested_after is not None:
        wanted.append((_AFTER, (filters.ingested_after.timestamp(),)))
    conditions = " AND ".join(sql for sql, _ in wanted)
    return Clause(conditions, tuple(value for _, values in wanted for value in values))


def bind_path_filter(connection: apsw.Connection, patterns: tuple[str, ...]) -> None:
    """Have `path_fits(path)` mean: fits one of `patterns`."""
    globs = [compile_glob(pattern) for pattern in patterns]

    def path_fits(path: str) -> bool:
        return any(glob.matches(path) for glob in globs)

    connection.create_scalar_function("path_fits", path_fits, 1, deterministic=True)


def _rows(connection: apsw.Connection, sql: str, values: tuple[str | float, ...]) -> np.ndarray:
    return np.fromiter((row for (row,) in connection.execute(sql, values)), np.int64)
