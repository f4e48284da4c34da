"""Search filters as SQL over a mirror. Values are bound, lists as JSON; only constants are put together."""

import json
from dataclasses import dataclass

import apsw

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
_CHUNKS = "AND rowid IN (SELECT c.chunk FROM chunks c JOIN documents d ON d.doc = c.doc WHERE "


@dataclass(frozen=True, slots=True)
class Clause:
    """What follows a MATCH: empty, or `AND rowid IN (…)`, with the values it binds."""

    sql: str
    values: tuple[str | float, ...]


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
    if not wanted:
        return Clause("", ())
    conditions = " AND ".join(sql for sql, _ in wanted)
    return Clause(f"{_CHUNKS}{conditions})", tuple(value for _, values in wanted for value in values))


def bind_path_filter(connection: apsw.Connection, patterns: tuple[str, ...]) -> None:
    """Have `path_fits(path)` mean: fits one of `patterns`."""
    globs = [compile_glob(pattern) for pattern in patterns]

    def path_fits(path: str) -> bool:
        return any(glob.matches(path) for glob in globs)

    connection.create_scalar_function("path_fits", path_fits, 1, deterministic=True)
