"""Comparison of a database's migrations with the code's: missing ones, and ones of a later version."""

from functools import cache

import psycopg
from django.db.migrations.loader import MigrationLoader

_APPLIED = "SELECT app, name FROM django_migrations"


def find_missing_in(connection: psycopg.Connection) -> list[str]:
    """Return the migrations that the database of `connection` lacks. Raises psycopg.Error."""
    try:
        applied = {(app, name) for app, name in connection.execute(_APPLIED)}
    except psycopg.errors.UndefinedTable:
        applied = set()
    return find_missing(applied)


def find_missing(applied: set[tuple[str, str]]) -> list[str]:
    """Return the expected migrations that are not among `applied`."""
    return [f"{app}.{name}" for app, name in sorted(expected_migrations() - applied)]


def find_later(applied: set[tuple[str, str]]) -> list[str]:
    """Return the migrations among `applied` that a later version of the code has added."""
    known = _known_migrations()
    apps = {app for app, _ in known}
    return [f"{app}.{name}" for app, name in sorted(applied) if app in apps and (app, name) not in known]


@cache
def _known_migrations() -> frozenset[tuple[str, str]]:
    """Return all migrations of the code, cached, as reading them is slow."""
    return frozenset(MigrationLoader(None).disk_migrations)


@cache
def expected_migrations() -> frozenset[tuple[str, str]]:
    """Return the latest migration of each app, cached, as the code doesn't change while it runs."""
    return frozenset(MigrationLoader(None).graph.leaf_nodes())
