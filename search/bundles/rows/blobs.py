"""The bytes of documents as rows of a bundle, a piece at a time."""

import uuid
from collections.abc import Iterator

from search.bundles.format.layout import ROW_BYTES
from search.corpus.blobs import open_blob


def blob_pieces(workspace_id: uuid.UUID, hash_: str) -> Iterator[bytes]:
    """Return the bytes with this hash in pieces, one at least. Raises FileNotFoundError."""
    with open_blob(workspace_id, hash_) as blob:
        yield blob.read(ROW_BYTES)
        while piece := blob.read(ROW_BYTES):
            yield piece
