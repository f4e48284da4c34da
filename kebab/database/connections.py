"""The connections of a process to the database."""

from django.db import DEFAULT_DB_ALIAS, connections

from kebab.tenancy.postgres.base import DatabaseWrapper


def close_connections() -> None:
    """Close this thread's connection and the process's pool."""
    own = connections[DEFAULT_DB_ALIAS]
    own.close()
    if isinstance(own, DatabaseWrapper):
        own.close_pool()
