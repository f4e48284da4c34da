"""Format 1 of bundles: tables, limits and columns of each section.

A bundle is a SQLite database with one table per section. Bundles of releases up to 0.3 also have the tables
of a mirror, which are ignored. Format 1 stays readable for ever, whatever is changed for new bundles.
"""

from typing import Final

#: SQLite's `application_id`: "KB" and two zero bytes.
APPLICATION_ID: Final = 0x4B_42_00_00
#: Stored as `user_version`.
FORMAT: Final = 1

#: Sections with one JSON object per row, in the order in which an import needs them.
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
#: All sections; their tables have the prefix `bundle_`.
SECTIONS: Final = (*SMALL_SECTIONS, "documents", "chunks", "vectors", "blobs")

#: Most uncompressed bytes of a row; an export starts a new row well before.
MAX_ROW_BYTES: Final = 16 * 2**20
#: Most uncompressed bytes of all chunks of a document.
MAX_DOCUMENT_BYTES: Final = 512 * 2**20
#: Approximate size of a row of an export, for chunks of one document and for pieces of a blob.
ROW_BYTES: Final = 2 * 2**20
CHUNKS_PER_ROW: Final = 256
VECTORS_PER_ROW: Final = 1_000  # fewer if they are long
#: Most components of pgvector's halfvec.
MAX_DIM: Final = 16_000
#: Most bytes of the manifest.
MAX_MANIFEST_BYTES: Final = 2**20

_SMALL_TABLES = "\n".join(
    f"CREATE TABLE bundle_{section} (number INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;"
    for section in SMALL_SECTIONS
)
#: Tables of all sections; rows are numbered from 1 without gaps.
CREATE: Final = f"""
CREATE TABLE bundle_manifest (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
{_SMALL_TABLES}
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

#: Columns of a section in addition to number and body, in order.
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


def insert_statement(section: str) -> str:
    """Return the statement that adds a row to a section."""
    columns = columns_of(section)
    return _INSERT.format(section=section, columns=", ".join(columns), places=", ".join("?" * len(columns)))


def select_statement(section: str) -> str:
    """Return the statement that reads the rows of a section after a number, in order."""
    return _SELECT.format(section=section, columns=", ".join(columns_of(section)))
