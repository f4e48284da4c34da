"""Seeing to it that PostgreSQL knows how large the search tables have become.

Before its first look it takes a table for one row and joins in nested loops: a filtered search of 333 vectors
took 20 s. Autovacuum looks once a minute; a first search comes sooner.
"""

import logging

from django.db import OperationalError, connection

from search.models import Chunk, ChunkVector, Document

logger = logging.getLogger(__name__)

_TABLES = [model._meta.db_table for model in (Document, Chunk, ChunkVector)]
# Tables that were never counted, or are four times as large as when they were.
_OUTGROWN = """
SELECT relname FROM pg_class
WHERE oid = ANY(%s::regclass[])
AND (reltuples < 0 OR pg_relation_size(oid) > 4 * greatest(relpages, 1) * current_setting('block_size')::int)
"""


def refresh_statistics() -> list[str]:
    """Have PostgreSQL count the search tables that have outgrown their statistics; give their names.

    A table that something else holds is left to autovacuum.
    """
    with connection.cursor() as cursor:
        cursor.execute(_OUTGROWN, [_TABLES])
        outgrown = [name for (name,) in cursor.fetchall()]
        try:
            if outgrown:  # only their owner may count them
                cursor.execute("SELECT kebab_analyze(%s::regclass[])", [outgrown])
        except OperationalError as error:
            logger.warning("statistics of %s are left as they are: %s", ", ".join(outgrown), error)
    return outgrown
