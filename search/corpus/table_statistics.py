"""Planner statistics of the search tables: a check, and a refresh after fast growth.

Before the first ANALYZE, PostgreSQL assumes one row and joins in nested loops: a filtered search of 333
vectors took 20 s. Autovacuum runs once a minute; a first search comes sooner.
"""

import logging

from django.db import OperationalError, connection

from kebab.health.checks import CheckResult, ok_result, repaired_result, warning_result
from search.models import Chunk, ChunkVector, Document

logger = logging.getLogger(__name__)

_TABLES = [model._meta.db_table for model in (Document, Chunk, ChunkVector)]
# Tables and partitions that were never analysed, or are four times as large as then. A partitioned table has
# no pages of its own; if it was never analysed, all its partitions are.
_OUTGROWN = """
SELECT oid, relname FROM pg_class
WHERE (oid = ANY(%(tables)s::regclass[]) OR oid IN (
    SELECT inhrelid FROM pg_inherits WHERE inhparent = ANY(%(tables)s::regclass[])
))
AND (reltuples < 0
    OR pg_relation_size(oid) > 4::bigint * greatest(relpages, 1) * current_setting('block_size')::int)
"""


def tables_with_outdated_statistics() -> dict[str, int]:
    """Return the oids of search tables and partitions that have outgrown their statistics, by name."""
    with connection.cursor() as cursor:
        cursor.execute(_OUTGROWN, {"tables": _TABLES})
        return {name: oid for oid, name in cursor.fetchall()}


def check_statistics(repair: bool) -> CheckResult:
    """Check that PostgreSQL's statistics fit the size of the search tables."""
    outgrown = tables_with_outdated_statistics()
    if not outgrown:
        return ok_result("statistics", "fit the size of the tables")
    detail = f"PostgreSQL has not counted {', '.join(outgrown)} since they were small"
    if not repair:
        return warning_result("statistics", detail, "Run: kebab doctor --repair; autovacuum does it, too.")
    refresh_statistics()
    return repaired_result("statistics", f"{detail}; counted")


def refresh_statistics() -> list[str]:
    """Analyse the search tables that have outgrown their statistics; return their names.

    A table that is locked is left to autovacuum.
    """
    outgrown = tables_with_outdated_statistics()
    with connection.cursor() as cursor:
        try:
            if outgrown:  # only the owner may analyse them, hence the database function
                cursor.execute(
                    "SELECT kebab_analyze(%s::regclass[])", [[str(oid) for oid in outgrown.values()]]
                )
        except OperationalError as error:
            logger.warning("statistics of %s are left as they are: %s", ", ".join(outgrown), error)
    return list(outgrown)
