"""Seeing to it that PostgreSQL knows how large the search tables have become.

Before its first look it takes a table for one row and joins in nested loops: a filtered search of 333 vectors
took 20 s. Autovacuum looks once a minute; a first search comes sooner.
"""

import logging

from django.db import OperationalError, connection

from kebab.observability.health.checks import CheckResult, repaired, warning, well
from search.models import Chunk, ChunkVector, Document

logger = logging.getLogger(__name__)

_TABLES = [model._meta.db_table for model in (Document, Chunk, ChunkVector)]
# Tables, or parts of them, that were never counted, or are four times as large as when they were. What is cut
# into parts has no pages of its own; that it was never counted makes all its parts counted.
_OUTGROWN = """
SELECT oid, relname FROM pg_class
WHERE (oid = ANY(%(tables)s::regclass[]) OR oid IN (
    SELECT inhrelid FROM pg_inherits WHERE inhparent = ANY(%(tables)s::regclass[])
))
AND (reltuples < 0
    OR pg_relation_size(oid) > 4::bigint * greatest(relpages, 1) * current_setting('block_size')::int)
"""


def outgrown_statistics() -> dict[str, int]:
    """Return the ids of search tables, and of parts of them, that have outgrown their statistics, by name."""
    with connection.cursor() as cursor:
        cursor.execute(_OUTGROWN, {"tables": _TABLES})
        return {name: oid for oid, name in cursor.fetchall()}


def check_statistics(repair: bool) -> CheckResult:
    """Return whether PostgreSQL knows how large the search tables are, as far as its plans depend on it."""
    outgrown = outgrown_statistics()
    if not outgrown:
        return well("statistics", "fit the size of the tables")
    detail = f"PostgreSQL has not counted {', '.join(outgrown)} since they were small"
    if not repair:
        return warning("statistics", detail, "Run: kebab doctor --repair; autovacuum does it, too.")
    refresh_statistics()
    return repaired("statistics", f"{detail}; counted")


def refresh_statistics() -> list[str]:
    """Have PostgreSQL count the search tables that have outgrown their statistics; give their names.

    A table that something else holds is left to autovacuum.
    """
    outgrown = outgrown_statistics()
    with connection.cursor() as cursor:
        try:
            if outgrown:  # only their owner may count them
                cursor.execute(
                    "SELECT kebab_analyze(%s::regclass[])", [[str(oid) for oid in outgrown.values()]]
                )
        except OperationalError as error:
            logger.warning("statistics of %s are left as they are: %s", ", ".join(outgrown), error)
    return list(outgrown)
