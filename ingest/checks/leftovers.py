"""What `kebab doctor` says about what deleted workspaces left: no row, no folder, no list in Redis."""

import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

import redis
from django.conf import settings
from django.core.files.storage import default_storage
from django.db import connection, transaction
from psycopg import sql

from ingest.connectors.git.local_copy import remove_repositories, workspaces_with_repositories
from kebab.observability.health.checks import CheckResult, failed, repaired, well
from kebab.observability.health.slow_query import ask
from kebab.observability.health.versions import redis_client
from kebab.people.models import Workspace
from search.bundles.importer.locks import is_under_way, try_lock
from search.corpus.blobs import drop_all_blobs
from search.mirror import local_mirrors
from search.mirror.files import workspaces_with_files

#: What these checks are called.
LEFTOVERS = "leftovers"
_REMEDY = "Run: kebab doctor --repair"
# Files go once the deletion is committed, and the mirror process looks each second.
_PATIENCE_S = 5.0
_POLL_S = 0.2

# Foreign keys as the database has them: table, target, and the columns of both, in their order.
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
# Made from what is no orphan; any other row of a workspace that stands is for a person to judge.
_DERIVED = frozenset(
    {"search_chunk", "search_chunkvector", "search_change", "search_answerdocument", "ingest_jobitem"}
)


def check_leftovers(repair: bool) -> Iterator[CheckResult]:
    """Return whether anything is left of deleted workspaces: folders of this node, blobs, lists in Redis."""
    found = [result for kind in _kinds() for result in _of_kind(*kind, repair=repair)]
    yield from found or [well(LEFTOVERS, "nothing is left of deleted workspaces")]


def check_rows(repair: bool) -> Iterator[CheckResult]:
    """Return whether each row's reference leads to a row, as the database sees to while its constraints are
    on.
    """
    found = []
    for table, target, columns, target_columns in ask(_REFERENCES):
        found += _orphans(table, target, dict(zip(columns, target_columns, strict=True)), repair=repair)
    yield from found or [well("rows", "none is an orphan")]


Kind = tuple[str, Callable[[], Iterable[uuid.UUID]], Callable[[uuid.UUID], object]]


def _kinds() -> list[Kind]:
    """Return what is kept by workspace beside the rows: its name, who has some of it, and how it is
    removed.
    """
    return [
        ("mirrors", partial(workspaces_with_files, settings.KEBAB_MIRROR_DIR), _remove_mirror),
        ("blobs", _with_blobs, _remove_blobs),
        ("repositories", workspaces_with_repositories, remove_repositories),
        ("kept lists", _with_lists, _remove_lists),
    ]


def _of_kind(
    name: str,
    holders: Callable[[], Iterable[uuid.UUID]],
    remove: Callable[[uuid.UUID], object],
    *,
    repair: bool,
) -> Iterator[CheckResult]:
    try:
        left = _left(holders)
    except redis.RedisError:
        return  # that is the finding of another check
    if not left:
        return
    detail = f"{name} of {len(left)} workspaces that are gone ({', '.join(map(str, sorted(left)[:3]))})"
    if not repair:
        yield failed(LEFTOVERS, detail, _REMEDY)
        return
    for workspace_id in left:
        remove(workspace_id)
    yield repaired(LEFTOVERS, f"{detail}; removed")


def _left(holders: Callable[[], Iterable[uuid.UUID]]) -> set[uuid.UUID]:
    """Return holders that are no workspace, once those that are being deleted just now had their time."""
    deadline = time.monotonic() + _PATIENCE_S
    # Holders first: who is made in between is a workspace by the time that is asked.
    while left := set(holders()) - set(Workspace.objects.values_list("pk", flat=True)):
        if time.monotonic() > deadline:
            return left
        time.sleep(_POLL_S)
    return left


def _remove_mirror(workspace_id: uuid.UUID) -> None:
    local_mirrors.mirror_files(workspace_id).remove_all()


def _with_blobs() -> Iterator[uuid.UUID]:
    try:
        names = default_storage.listdir("")[0]
    except FileNotFoundError:
        return
    # An import keeps bytes before its workspace can be seen.
    yield from (each for each in _ids(names) if not is_under_way(each))


def _remove_blobs(workspace_id: uuid.UUID) -> None:
    """Remove bytes that are no workspace's, and that no import is about to make one of."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        if try_lock(workspace_id) and not Workspace.objects.filter(pk=workspace_id).exists():
            drop_all_blobs(workspace_id)


def _with_lists() -> set[uuid.UUID]:
    """Return the workspaces of which Redis keeps ranked lists for next pages."""
    with redis_client() as client:
        names = [
            bytes(name).decode().split(":") for name in client.scan_iter(match="kebab:cursor*", count=1_000)
        ]
    return set(_ids(name[2] for name in names if len(name) > 2))


def _remove_lists(workspace_id: uuid.UUID) -> None:
    with redis_client() as client:
        for name in client.scan_iter(match=f"kebab:cursor*:{workspace_id.hex}:*", count=1_000):
            client.unlink(name)


def _ids(names: Iterable[str]) -> Iterator[uuid.UUID]:
    for name in names:
        try:
            yield uuid.UUID(name)
        except ValueError:
            continue


def _orphans(table: str, target: str, columns: Mapping[str, str], *, repair: bool) -> Iterator[CheckResult]:
    orphans = sql.SQL("FROM {} o WHERE {}").format(sql.Identifier(table), _is_orphan(target, columns))
    ((count,),) = ask(sql.SQL("SELECT count(*) {}").format(orphans))
    if not count:
        return
    detail = f"{count} rows of {table} refer to {target}, where there is no such row"
    if not repair:
        yield failed("rows", detail, _REMEDY)
    elif table in _DERIVED or target == "people_workspace":
        ask(sql.SQL("DELETE {}").format(orphans))
        yield repaired("rows", f"{detail}; deleted")
    else:
        yield failed(
            "rows", detail, "They are made from nothing else and stay; look at them, or restore a backup."
        )


def _is_orphan(target: str, columns: Mapping[str, str]) -> sql.Composed:
    """Return the condition that a row `o` refers to a row of `target` that isn't there."""
    equal = [
        sql.SQL("t.{} = o.{}").format(sql.Identifier(theirs), sql.Identifier(own))
        for own, theirs in columns.items()
    ]
    given = [sql.SQL("o.{} IS NOT NULL").format(sql.Identifier(own)) for own in columns]
    return sql.SQL("{} AND NOT EXISTS (SELECT 1 FROM {} t WHERE {})").format(
        sql.SQL(" AND ").join(given), sql.Identifier(target), sql.SQL(" AND ").join(equal)
    )
