"""Which migrations of this code a database lacks, and which it has that this code doesn't know."""

from functools import cache

import psycopg
from django.db.migrations.loader import MigrationLoader

_APPLIED = "SELECT app, name FROM django_migrations"


def missing_in(connection: psycopg.Connection) -> list[str]:
    """Return those that the database of `connection` lacks. Raises psycopg.Error."""
    try:
        applied = {(app, name) for app, name in connection.execute(_APPLIED)}
    except psycopg.errors.UndefinedTable:
        applied = set()
    return missing_of(applied)


def missing_of(applied: set[tuple[str, str]]) -> list[str]:
    """Return those that are not among `applied`."""
    return [f"{app}.{name}" for app, name in sorted(expected_migrations() - applied)]


def later_of(applied: set[tuple[str, str]]) -> list[str]:
    """Return those of `applied` that a later code has made."""
    known = _known_migrations()
    apps = {app for app, _ in known}
    return [f"{app}.{name}" for app, name in sorted(applied) if app in apps and (app, name) not in known]


@cache
def _known_migrations() -> frozenset[tuple[str, str]]:
    """Return all migrations of the code, which don't change while it runs: reading them takes a while."""
    return frozenset(MigrationLoader(None).disk_migrations)


@cache
def expected_migrations() -> frozenset[tuple[str, str]]:
    """Return the latest migration of each app; the code's migrations don't change while it runs."""
    return frozenset(MigrationLoader(None).graph.leaf_nodes())
