"""The `kebab doctor` check of HNSW indexes: valid ones for all large spaces, and no orphans."""

from collections.abc import Iterator

from django.conf import settings
from psycopg import sql

from kebab.health.checks import (
    CheckResult,
    failed_result,
    ok_result,
    repaired_result,
    warning_result,
)
from kebab.health.scrape import fetch_rows
from kebab.tenancy.roles import owner_connection
from search.models import EmbeddingSpace, SpaceState
from search.vectors.index import ensure_index

_NAME = "vector indexes"
_REMEDY = "Run: kebab doctor --repair"
# Without indexes whose build is in progress.
_INDEXES = r"""
SELECT c.relname, c.relnamespace::regnamespace::text, i.indisvalid
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE c.relname ~ '^vector_hnsw_[0-9]+$'
    AND NOT EXISTS (SELECT 1 FROM pg_stat_progress_create_index p WHERE p.index_relid = c.oid)
"""
_LARGE = """
SELECT space_id FROM search_chunkvector GROUP BY space_id HAVING count(*) >= %s
"""


def check_vector_indexes(repair: bool) -> Iterator[CheckResult]:
    """Check that each large space has a valid index, and that no index of a deleted space is left."""
    found = [
        (int(name.rpartition("_")[2]), schema, is_valid) for name, schema, is_valid in fetch_rows(_INDEXES)
    ]
    schemas = {number: schema for number, schema, _ in found}
    indexes = {number: is_valid for number, _, is_valid in found}
    spaces = {space.pk: space for space in EmbeddingSpace.objects.select_related("workspace")}
    large = {pk for (pk,) in fetch_rows(_LARGE, [settings.KEBAB_EXACT_SCAN_LIMIT])}
    orphaned = {number: schema for number, schema in schemas.items() if number not in spaces}
    results = [
        *_check_broken(spaces, indexes, schemas, repair=repair),
        *_check_due(spaces, large, repair=repair),
        *_check_orphaned(orphaned, repair=repair),
    ]
    yield from results or [ok_result(_NAME, f"{len(indexes)}, all valid")]


def _check_broken(
    spaces: dict[int, EmbeddingSpace], indexes: dict[int, bool], schemas: dict[int, str], *, repair: bool
) -> Iterator[CheckResult]:
    for pk, space in sorted(spaces.items()):
        is_valid = indexes.get(pk)
        if is_valid or (is_valid is None and not space.is_indexed):
            continue
        detail = f"{space}: it is {'missing' if is_valid is None else 'not valid'}, so vectors are scanned"
        if not repair:
            yield failed_result(f"vector index of {space.workspace}", detail, _REMEDY)
            continue
        if is_valid is not None:
            _drop(pk, schemas[pk])
        _build(space)
        yield repaired_result(f"vector index of {space.workspace}", f"{detail}; built anew")


def _check_due(spaces: dict[int, EmbeddingSpace], large: set[int], *, repair: bool) -> Iterator[CheckResult]:
    for pk in sorted(large & spaces.keys()):
        space = spaces[pk]
        if space.is_indexed or space.state != SpaceState.LIVE:
            continue
        name, detail = f"vector index of {space.workspace}", f"{space} has grown past the exact scan"
        if repair and ensure_index(space):
            yield repaired_result(name, f"{detail}; built")
        else:
            yield warning_result(name, detail, "It is built at the end of the next embedding job.")


def _check_orphaned(schemas: dict[int, str], *, repair: bool) -> Iterator[CheckResult]:
    for number, schema in sorted(schemas.items()):
        name = f"vector_hnsw_{number}"
        if not repair:
            yield failed_result(name, "its space is gone", _REMEDY)
            continue
        _drop(number, schema)
        yield repaired_result(name, "its space is gone; dropped")


def _build(space: EmbeddingSpace) -> None:
    """Rebuild the index, or record that a space that has become small has none."""
    space.is_indexed = False
    space.save(update_fields=["is_indexed"])
    ensure_index(space)


def _drop(number: int, schema: str) -> None:
    name = sql.Identifier(schema, f"vector_hnsw_{number}")
    with owner_connection() as owner:
        owner.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(name))
