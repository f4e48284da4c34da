"""Blobs of documents as rows of a bundle, one piece per row."""

import uuid
from collections.abc import Iterator

from search.bundles.format.layout import ROW_BYTES
from search.corpus.blobs import open_blob


def blob_pieces(workspace_id: uuid.UUID, hash_: str) -> Iterator[bytes]:
    """Yield the blob with this hash in pieces, at least one. Raises FileNotFoundError."""
    with open_blob(workspace_id, hash_) as blob:
        yield blob.read(ROW_BYTES)
        while piece := blob.read(ROW_BYTES):
            yield piece
