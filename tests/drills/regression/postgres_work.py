"""Counts of PostgreSQL's work, from the protocol and from its statistics."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

from django.db import connection
from psycopg import pq

# Rows of sequential scans of a table, and index entries read by scans, including entries that a condition
# then discards and those of index-only scans.
_READ = """
SELECT c.relname, pg_stat_get_xact_tuples_returned(c.oid) FROM pg_class c
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'i')
"""
# A message in libpq's trace: sender, length, kind, content.
_MESSAGE = re.compile(r"^([FB])\t(\d+)\t(\w+)(?:\t (.*))?$")
# A statement ends with its tag; settings and transaction control don't count as statements.
_NO_STATEMENT = ("SET", "BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "ROLLBACK")


# PostgreSQL would read or hash tables as small as these in whole; the question is whether an index can
# serve.
_BY_INDEX = (
    "SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off"
)


class PostgresWork:
    """Counts of one block, by name; complete when it has ended."""

    def __init__(self) -> None:
        self.figures: dict[str, int] = {}


@contextmanager
def postgres_work() -> Iterator[PostgresWork]:
    """Count what the block sends over Django's connection, in a transaction around it."""
    work = PostgresWork()
    with connection.cursor() as cursor:
        cursor.execute(_BY_INDEX)
    read_before = _rows_read()
    with NamedTemporaryFile() as file:
        protocol = connection.connection.pgconn
        with Path(file.name).open("w") as trace:
            protocol.trace(trace.fileno())
            protocol.set_trace_flags(pq.Trace.SUPPRESS_TIMESTAMPS)
            try:
                yield work
            finally:
                protocol.untrace()
        work.figures.update(_count_messages(Path(file.name).read_text(encoding="utf-8", errors="replace")))
    read = _rows_read() - read_before
    work.figures["rows read"] = read.total()
    work.figures.update({f"rows read of {relation}": rows for relation, rows in read.most_common()})


def _rows_read() -> Counter[str]:
    with connection.cursor() as cursor:
        cursor.execute(_READ)
        return Counter(dict(cursor.fetchall()))


def _count_messages(trace: str) -> Mapping[str, int]:
    found = {"statements": 0, "round trips": 0, "rows sent": 0, "bytes sent": 0}
    for sender, length, kind, content in _messages(trace):
        if sender == "F":
            continue
        found["bytes sent"] += length
        if kind == "CommandComplete":
            found["statements"] += not content.strip('"').startswith(_NO_STATEMENT)
        elif kind == "DataRow":
            found["rows sent"] += 1
        elif kind == "ReadyForQuery":
            found["round trips"] += 1
    return found


def _messages(trace: str) -> Iterator[tuple[str, int, str, str]]:
    for line in trace.split("\n"):
        if (message := _MESSAGE.match(line)) is not None:
            sender, length, kind, content = message.groups()
            yield sender, int(length), kind, content or ""
