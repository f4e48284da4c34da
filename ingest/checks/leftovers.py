"""The check of `kebab doctor` for leftovers of deleted workspaces: rows, folders, lists in Redis."""

import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

import redis
from django.conf import settings
from django.core.files.storage import default_storage
from django.db import connection, transaction
from psycopg import sql

from ingest.connectors.git.local_copy import delete_repositories, workspaces_with_repositories
from kebab.health.checks import CheckResult, failed_result, ok_result, repaired_result
from kebab.health.scrape import fetch_rows
from kebab.identity.models import Workspace
from kebab.stack.servers.redis_client import redis_client
from search.bundles.importer.importer import is_under_way, try_lock
from search.corpus.blobs import delete_all_blobs
from search.mirror import local_mirrors
from search.mirror.files import workspaces_with_files

#: Name of these checks.
LEFTOVERS = "leftovers"
_REMEDY = "Run: kebab doctor --repair"
# Files are deleted after the commit, and the mirror process polls each second.
_PATIENCE_S = 5.0
_POLL_S = 0.2

# Foreign keys of the database: table, target, and the columns of both, in their order.
_REFERENCES = """
SELECT own.relname, target.relname,
    array_agg(a.attname ORDER BY k.nth), array_agg(b.attname ORDER BY k.nth)
FROM pg_constraint c
JOIN pg_class own ON own.oid = c.conrelid
JOIN pg_class target ON target.oid = c.confrelid
CROSS JOIN LATERAL unnest(c.conkey, c.confkey) WITH ORDINALITY AS k(from_column, to_column, nth)
JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.from_column
JOIN pg_attribute b ON b.attrelid = c.confrelid AND b.attnum = k.to_column
WHERE c.contype = 'f' AND c.connamespace = 'public'::regnamespace AND c.conparentid = 0
GROUP BY c.oid, own.relname, target.relname ORDER BY 1, 2
"""
# Tables derived from others, whose orphans may be deleted; orphans of other tables need a person's decision.
_DERIVED = frozenset(
    {"search_chunk", "search_chunkvector", "search_change", "search_answerdocument", "ingest_jobitem"}
)


def check_leftovers(repair: bool) -> Iterator[CheckResult]:
    """Check for leftovers of deleted workspaces: folders of this node, blobs, lists in Redis."""
    found = [result for kind in _leftover_kinds() for result in _check_kind(*kind, repair=repair)]
    yield from found or [ok_result(LEFTOVERS, "nothing is left of deleted workspaces")]


def check_rows(repair: bool) -> Iterator[CheckResult]:
    """Check that each foreign key refers to a row, which the database ensures unless constraints are off."""
    found: list[CheckResult] = []
    for table, target, columns, target_columns in fetch_rows(_REFERENCES):
        found += _check_orphans(table, target, dict(zip(columns, target_columns, strict=True)), repair=repair)
    yield from found or [ok_result("rows", "none is an orphan")]


Kind = tuple[str, Callable[[], Iterable[uuid.UUID]], Callable[[uuid.UUID], object]]


def _leftover_kinds() -> list[Kind]:
    """Return the kinds of data stored per workspace outside tables: name, listing, deletion."""
    return [
        ("mirrors", partial(workspaces_with_files, settings.KEBAB_MIRROR_DIR), _delete_mirror),
        ("blobs", _workspaces_with_blobs, _delete_blobs),
        ("repositories", workspaces_with_repositories, delete_repositories),
        ("kept lists", _workspaces_with_lists, _delete_lists),
    ]


def _check_kind(
    name: str,
    holders: Callable[[], Iterable[uuid.UUID]],
    remove: Callable[[uuid.UUID], object],
    *,
    repair: bool,
) -> Iterator[CheckResult]:
    try:
        leftovers = _find_leftovers(holders)
    except redis.RedisError:
        return  # another check reports that
    if not leftovers:
        return
    detail = (
        f"{name} of {len(leftovers)} workspaces that are gone ({', '.join(map(str, sorted(leftovers)[:3]))})"
    )
    if not repair:
        yield failed_result(LEFTOVERS, detail, _REMEDY)
        return
    for workspace_id in leftovers:
        remove(workspace_id)
    yield repaired_result(LEFTOVERS, f"{detail}; removed")


def _find_leftovers(holders: Callable[[], Iterable[uuid.UUID]]) -> set[uuid.UUID]:
    """Return the holders that are no workspace, after waiting for deletions that are under way."""
    deadline = time.monotonic() + _PATIENCE_S
    # Holders are read first: one created in between is a workspace when those are read.
    while leftovers := set(holders()) - set(Workspace.objects.values_list("pk", flat=True)):
        if time.monotonic() > deadline:
            return leftovers
        time.sleep(_POLL_S)
    return leftovers


def _delete_mirror(workspace_id: uuid.UUID) -> None:
    local_mirrors.mirror_files(workspace_id).delete_all()


def _workspaces_with_blobs() -> Iterator[uuid.UUID]:
    try:
        names = default_storage.listdir("")[0]
    except FileNotFoundError:
        return
    # An import stores bytes before its workspace is visible.
    yield from (each for each in _parse_ids(names) if not is_under_way(each))


def _delete_blobs(workspace_id: uuid.UUID) -> None:
    """Delete blobs of no workspace, unless an import is about to create it."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        if try_lock(workspace_id) and not Workspace.objects.filter(pk=workspace_id).exists():
            delete_all_blobs(workspace_id)


def _workspaces_with_lists() -> set[uuid.UUID]:
    """Return the workspaces for which Redis has ranked lists of next pages."""
    with redis_client() as client:
        names = [
            bytes(name).decode().split(":") for name in client.scan_iter(match="kebab:cursor*", count=1_000)
        ]
    return set(_parse_ids(name[2] for name in names if len(name) > 2))


def _delete_lists(workspace_id: uuid.UUID) -> None:
    with redis_client() as client:
        for name in client.scan_iter(match=f"kebab:cursor*:{workspace_id.hex}:*", count=1_000):
            client.unlink(name)


def _parse_ids(names: Iterable[str]) -> Iterator[uuid.UUID]:
    for name in names:
        try:
            yield uuid.UUID(name)
        except ValueError:
            continue


def _check_orphans(
    table: str, target: str, columns: Mapping[str, str], *, repair: bool
) -> Iterator[CheckResult]:
    orphans = sql.SQL("FROM {} o WHERE {}").format(sql.Identifier(table), _orphan_condition(target, columns))
    ((count,),) = fetch_rows(sql.SQL("SELECT count(*) {}").format(orphans))
    if not count:
        return
    detail = f"{count} rows of {table} refer to {target}, where there is no such row"
    if not repair:
        yield failed_result("rows", detail, _REMEDY)
    elif table in _DERIVED or target == "people_workspace":
        fetch_rows(sql.SQL("DELETE {}").format(orphans))
        yield repaired_result("rows", f"{detail}; deleted")
    else:
        yield failed_result(
            "rows", detail, "They are made from nothing else and stay; look at them, or restore a backup."
        )


def _orphan_condition(target: str, columns: Mapping[str, str]) -> sql.Composed:
    """Return the SQL condition that row `o` refers to a missing row of `target`."""
    equal = [
        sql.SQL("t.{} = o.{}").format(sql.Identifier(theirs), sql.Identifier(own))
        for own, theirs in columns.items()
    ]
    given = [sql.SQL("o.{} IS NOT NULL").format(sql.Identifier(own)) for own in columns]
    return sql.SQL("{} AND NOT EXISTS (SELECT 1 FROM {} t WHERE {})").format(
        sql.SQL(" AND ").join(given), sql.Identifier(target), sql.SQL(" AND ").join(equal)
    )
