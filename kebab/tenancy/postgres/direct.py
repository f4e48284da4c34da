"""Connections to Postgres outside Django."""

from collections.abc import Mapping
from typing import Any, Final

import psycopg

# Options of Django and our limits for requests; the rest (sslmode, …) is libpq's.
_DJANGO_OPTIONS: Final = frozenset(
    {"assume_role", "isolation_level", "options", "pool", "server_side_binding"}
)


def connect(database: Mapping[str, Any], **options: Any) -> psycopg.Connection:
    """Open a connection outside Django's pool and without its time limits, with autocommit."""
    given = {name: value for name, value in database["OPTIONS"].items() if name not in _DJANGO_OPTIONS}
    return psycopg.connect(
        host=database["HOST"],
        port=database["PORT"] or None,
        user=database["USER"],
        password=database["PASSWORD"] or None,
        dbname=database["NAME"],
        autocommit=True,
        **{**given, **options},
    )
