"""The chunks of one document in a mirror, for comparison with Postgres."""

import apsw

_CHUNKS = "SELECT c.chunk_id, c.row_version FROM chunks c JOIN documents d USING (doc) WHERE d.doc_id = ?"


def mirrored_chunks(connection: apsw.Connection, doc_id: str) -> dict[str, int]:
    """Return the row versions of the mirrored chunks of a document (32 hex digits), by chunk id."""
    return dict(connection.execute(_CHUNKS, (doc_id,)))
