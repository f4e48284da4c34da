"""Recording of the statements sent to PostgreSQL."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def noted_statements() -> Iterator[list[str]]:
    """Record the statements that this thread sends, in order."""
    sent: list[str] = []

    def note(execute, sql, params, many, context):
        sent.append(str(sql))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield sent
