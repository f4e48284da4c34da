"""Questions about whole tables, which take longer than a request may."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection, transaction
from psycopg import sql


def ask(
    statement: str | sql.Composable, values: Sequence[Any] | Mapping[str, Any] = ()
) -> list[tuple[Any, ...]]:
    """Return the rows of a statement that may take as long as it needs; none for one that gives no rows."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute(statement, values)
        return cursor.fetchall() if cursor.description else []
