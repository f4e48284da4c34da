"""Queries over whole tables, without the time limit of requests."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection, transaction
from psycopg import sql


def fetch_rows(
    statement: str | sql.Composable, values: Sequence[Any] | Mapping[str, Any] = ()
) -> list[tuple[Any, ...]]:
    """Run a statement without a time limit, and return its rows; none if it returns none."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute(statement, values)
        return cursor.fetchall() if cursor.description else []
