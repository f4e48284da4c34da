"""Format 1 of a bundle: its tables, its limits, and what each section's rows are made of.

A bundle is a SQLite database. It holds the tables of a mirror (`search.mirror.schema`), by which it can be
searched as it lies, and beside them a table for each section, from which a workspace is made again. Format 1
is read for ever: whatever changes here for what is written, what was written before stays readable.
"""

from typing import Final

#: The number after which a file says what it is: "KB" and a byte of zeros; the last byte is the mirror's.
APPLICATION_ID: Final = 0x4B_42_00_00
#: Kept as `user_version`.
FORMAT: Final = 1

#: Sections whose rows are one JSON object each, in the order in which an import needs them.
SMALL_SECTIONS: Final = (
    "workspace",
    "groups",
    "sources",
    "readers",
    "versions",
    "spaces",
    "topics",
    "judgements",
    "runs",
    "run_topics",
)
#: All sections, by the name of their table without what all begin with.
SECTIONS: Final = (*SMALL_SECTIONS, "documents", "chunks", "vectors", "blobs")

#: Bytes that a row of a section has unpacked, at most; an export ends a row of several before.
MAX_ROW_BYTES: Final = 16 * 2**20
#: Bytes that all chunks of a document have unpacked, at most.
MAX_DOCUMENT_BYTES: Final = 512 * 2**20
#: What an export puts into one row, about: chunks of one document, and bytes of a blob.
ROW_BYTES: Final = 2 * 2**20
CHUNKS_A_ROW: Final = 256
VECTORS_A_ROW: Final = 1_000  # fewer where they are long
#: Components that pgvector's halfvec takes.
MAX_DIM: Final = 16_000
#: Bytes of the manifest.
MAX_MANIFEST_BYTES: Final = 2**20

#: Every section's table: rows are numbered from 1 without a hole.
CREATE: Final = """
CREATE TABLE bundle_manifest (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE bundle_workspace (number INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
CREATE TABLE bundle_groups (number INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
CREATE TABLE bundle_sources (number INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
CREATE TABLE bundle_readers (number INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
CREATE TABLE bundle_versions (number INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
CREATE TABLE bundle_spaces (number INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
CREATE TABLE bundle_topics (number INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
CREATE TABLE bundle_judgements (number INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
CREATE TABLE bundle_runs (number INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
CREATE TABLE bundle_run_topics (number INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
CREATE TABLE bundle_documents (
    number INTEGER PRIMARY KEY,
    body BLOB NOT NULL,
    doc_id TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE bundle_chunks (
    number INTEGER PRIMARY KEY,
    body BLOB NOT NULL,
    document INTEGER NOT NULL
) STRICT;
CREATE INDEX bundle_chunks_by_document ON bundle_chunks (document);
CREATE TABLE bundle_vectors (
    number INTEGER PRIMARY KEY,
    body BLOB NOT NULL,
    chunk_ids BLOB NOT NULL,
    space INTEGER NOT NULL
) STRICT;
CREATE TABLE bundle_blobs (
    number INTEGER PRIMARY KEY,
    body BLOB NOT NULL,
    hash TEXT NOT NULL,
    part INTEGER NOT NULL
) STRICT;
"""

#: Columns of a section beside its number and its body, in order.
MORE_COLUMNS: Final = {
    "documents": ("doc_id",),
    "chunks": ("document",),
    "vectors": ("chunk_ids", "space"),
    "blobs": ("hash", "part"),
}

_INSERT: Final = "INSERT INTO bundle_{section} ({columns}) VALUES ({places})"
_SELECT: Final = "SELECT {columns} FROM bundle_{section} WHERE number > ? ORDER BY number"


def columns_of(section: str) -> tuple[str, ...]:
    """Return the columns of a section's table, in order."""
    return ("number", "body", *MORE_COLUMNS.get(section, ()))


def insert_of(section: str) -> str:
    """Return the statement that adds a row to a section."""
    columns = columns_of(section)
    return _INSERT.format(section=section, columns=", ".join(columns), places=", ".join("?" * len(columns)))


def select_of(section: str) -> str:
    """Return the statement that reads a section from behind a number on, in order."""
    return _SELECT.format(section=section, columns=", ".join(columns_of(section)))
