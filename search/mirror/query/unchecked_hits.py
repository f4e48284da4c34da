"""Hits read from a mirror without the check against Postgres, for the drill that proves the check."""

import json
import uuid
from collections.abc import Sequence
from typing import Any

from search.mirror import local_mirrors

_ROWS = """
SELECT c.chunk_id, d.doc_id, d.path, f.breadcrumb, '[]', '', f.text, '[]', '',
       d.indexed_at, d.source_key, d.version_tag, d.lang, '[]', d.trust_level, c.code_lang,
       d.dated_at, d.author, c.doc
FROM chunks c JOIN documents d ON d.doc = c.doc JOIN chunks_fts f ON f.rowid = c.chunk
WHERE c.chunk_id IN (SELECT value FROM json_each(?))
"""


def unchecked_documents(workspace_id: uuid.UUID, chunk_ids: Sequence[str]) -> dict[str, int]:
    """Return the number of each chunk's document in this node's mirror, by chunk id."""
    return {row[0]: row[-1] for row in _rows(workspace_id, chunk_ids)}


def unchecked_hits(workspace_id: uuid.UUID, chunk_ids: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the fields of hits, in the order of `search.engine.readback.VisibleChunk`'s fields."""
    return [
        (
            *(*row[:4], (), *row[5:9], round(row[9] * 1e6), *row[10:13], (), *row[14:16]),
            *(round(row[16] * 1e6), row[17], ""),
        )
        for row in _rows(workspace_id, chunk_ids)
    ]


def _rows(workspace_id: uuid.UUID, chunk_ids: Sequence[str]) -> list[tuple[Any, ...]]:
    with local_mirrors.reader_pool().reader(local_mirrors.mirror_files(workspace_id).current()) as reader:
        return reader.execute(_ROWS, (json.dumps(list(chunk_ids)),)).fetchall()
