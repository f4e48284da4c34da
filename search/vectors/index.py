"""The HNSW index of a large space: partial on workspace and space, built beside the running system."""

import logging

from django.conf import settings
from django.db import connection
from psycopg import Connection

from kebab.tenancy.owner import NotTheOwner, owner_connection
from search.models import ChunkVector, EmbeddingSpace

logger = logging.getLogger(__name__)

# Candidates that an insertion looks at, twice pgvector's default. On 125,222 chunks of documentation, 150
# headings asked, ef_search 200: recall@10 0.945 to 0.979, recall@100 0.903 to 0.921, for 1.7 times the build.
# With m 24 instead of 16 on top 0.979 and 0.934, for 2.5 times.
_EF_CONSTRUCTION = 128

_IS_VALID = "SELECT i.indisvalid FROM pg_index i WHERE i.indexrelid = to_regclass(%s)"


def index_name(space: EmbeddingSpace) -> str:
    """Give the name of the space's index; the space's number is unique in the database."""
    return f"vector_hnsw_{space.pk}"


def ensure_index(space: EmbeddingSpace) -> bool:
    """Build the space's index when it has grown past the exact scan; give whether it has one now.

    Runs outside a transaction. An index left invalid by a crash, or by a build that was broken off, which
    raises psycopg.Error, is dropped and built again.
    """
    vectors = ChunkVector.objects.in_workspace(space.workspace_id).filter(space=space.pk)
    if space.is_indexed or vectors.count() < settings.KEBAB_EXACT_SCAN_LIMIT:
        return space.is_indexed
    name = index_name(space)
    try:
        with owner_connection() as owner:
            row = owner.execute(_IS_VALID, [name]).fetchone()
            if row is not None and not row[0]:
                owner.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            if row is None or not row[0]:
                _build(owner, name, space)
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
    """Drop the space's index, as when its workspace is deleted: in the transaction that deletes the rows."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT kebab_drop_vector_index(%s)", [space.pk])


def drop_index_beside(space: EmbeddingSpace) -> None:
    """Drop the space's index while others write vectors; runs outside a transaction."""
    EmbeddingSpace.objects.in_workspace(space.workspace_id).filter(pk=space.pk).update(is_indexed=False)
    try:
        with owner_connection() as owner:
            owner.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {index_name(space)}")
    except NotTheOwner:  # then writers wait for a moment
        drop_index(space)


def _build(owner: Connection, name: str, space: EmbeddingSpace) -> None:
    owner.execute("SET maintenance_work_mem = '256MB'")
    # Index definitions take no bound values: all that goes in is our own numbers and a UUID.
    owner.execute(
        f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON search_chunkvector"
        f" USING hnsw ((embedding::halfvec({int(space.dim)})) halfvec_cosine_ops)"
        f" WITH (ef_construction = {_EF_CONSTRUCTION})"
        f" WHERE workspace_id = '{space.workspace_id}' AND space_id = {int(space.pk)}"
    )
