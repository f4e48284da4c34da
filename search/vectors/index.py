"""The HNSW index of a large space: partial on workspace and space, built concurrently with reads and writes.

Where an earlier version partitioned the table, the index is on the workspace's partition: PostgreSQL can't
build an index on a partitioned table concurrently.
"""

import logging

from django.conf import settings
from django.db import connection
from psycopg import Connection

from kebab.database.interruption import interruptible
from kebab.tenancy.roles import NotTheOwner, owner_connection
from search.models import ChunkVector, EmbeddingSpace

logger = logging.getLogger(__name__)

# Candidates of an insertion, twice pgvector's default. On 125,222 chunks of documentation with 150 headings
# as queries and ef_search 200: recall@10 0.945 to 0.979, recall@100 0.903 to 0.921, for 1.7 times the build
# time. With m 24 instead of 16 in addition: 0.979 and 0.934, for 2.5 times.
_EF_CONSTRUCTION = 128
_OLDER_SNAPSHOTS_MS = 900_000

# Memory per vector during the build, besides its components of two bytes: neighbours on the ground level, 512
# bytes, the element, and the allocator's rounding. A graph that doesn't fit is built page by page: 400,000
# vectors took 368 s in 256 MB.
_NODE_BYTES = 800
_LEAST_MEMORY_BYTES = 64 * 2**20

# Hysteresis, as a share of the limit, so that a space of about that size isn't indexed repeatedly.
_STILL_LARGE = 0.9

# With the schema, which is that of its table.
_INDEX = """
SELECT indexrelid::regclass::text, indisvalid FROM pg_index JOIN pg_class c ON c.oid = indexrelid
WHERE c.relname = %s
"""
_TABLE = """
SELECT tableoid::regclass::text FROM search_chunkvector WHERE workspace_id = %s AND space_id = %s LIMIT 1
"""


def index_name(space: EmbeddingSpace) -> str:
    """Return the name of the space's index; the space's number is unique in the database."""
    return f"vector_hnsw_{space.pk}"


def ensure_index(space: EmbeddingSpace) -> bool:
    """Build the space's index when it has outgrown the exact scan; return whether it has one now.

    The index of a space that has become much smaller, or is small by a changed setting, is dropped.

    Runs outside a transaction. An index left invalid by a crash or an aborted build, which raises
    psycopg.Error, is dropped and built again.
    """
    count = ChunkVector.objects.in_workspace(space.workspace_id).filter(space=space.pk).count()
    if space.is_indexed and count < settings.KEBAB_EXACT_SCAN_LIMIT * _STILL_LARGE:
        drop_index_concurrently(space)
        return False
    if space.is_indexed or count < settings.KEBAB_EXACT_SCAN_LIMIT:
        return space.is_indexed
    try:
        with owner_connection() as owner, interruptible(owner):
            name, is_valid = owner.execute(_INDEX, [index_name(space)]).fetchone() or ("", False)
            if name and not is_valid:
                owner.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            if not is_valid:
                _build(owner, space, count)
    except NotTheOwner as error:
        logger.warning(
            "vectors of space %s are scanned without an index; set KEBAB_OWNER_DATABASE_URL: %s",
            space.pk,
            error,
        )
        return False
    EmbeddingSpace.objects.in_workspace(space.workspace_id).filter(pk=space.pk).update(is_indexed=True)
    logger.info("vectors of space %s have an HNSW index", space.pk)
    return True


def drop_index(space: EmbeddingSpace) -> None:
    """Drop the space's index; blocks readers and writers of vectors until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT kebab_drop_vector_index(%s)", [space.pk])


def drop_index_concurrently(space: EmbeddingSpace) -> None:
    """Drop the index of a space, which may be deleted already, without blocking writers of vectors.

    Runs outside a transaction. Raises psycopg.Error, OperationalError when it is locked for too long.
    """
    EmbeddingSpace.objects.in_workspace(space.workspace_id).filter(pk=space.pk).update(is_indexed=False)
    try:
        with owner_connection() as owner:
            for name, _ in owner.execute(_INDEX, [index_name(space)]).fetchall():
                owner.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
    except NotTheOwner:  # fall back to a short lock
        drop_index(space)


def build_memory_bytes(vectors: int, dim: int) -> int:
    """Return the memory for building an index: the size of its graph, within KEBAB_INDEX_MEMORY_BYTES."""
    needed = vectors * (2 * dim + _NODE_BYTES)
    return max(_LEAST_MEMORY_BYTES, min(needed, settings.KEBAB_INDEX_MEMORY_BYTES))


def _build(owner: Connection, space: EmbeddingSpace, vectors: int) -> None:
    memory_kb = build_memory_bytes(vectors, space.dim) // 1024
    owner.execute(f"SET maintenance_work_mem = '{memory_kb}kB'")
    # The build doesn't block reads or writes, but waits for older snapshots at its end: rebuilds of mirrors
    # and bundles take minutes.
    owner.execute(f"SET lock_timeout = {_OLDER_SNAPSHOTS_MS}")
    with connection.cursor() as cursor:
        cursor.execute(_TABLE, [space.workspace_id, space.pk])
        (table,) = cursor.fetchone() or (ChunkVector._meta.db_table,)
    # Index definitions take no bound values; only integers and a UUID are interpolated.
    owner.execute(
        f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {index_name(space)}"
        f" ON {table}"
        f" USING hnsw ((embedding::halfvec({int(space.dim)})) halfvec_cosine_ops)"
        f" WITH (ef_construction = {_EF_CONSTRUCTION})"
        f" WHERE workspace_id = '{space.workspace_id}' AND space_id = {int(space.pk)}"
    )
