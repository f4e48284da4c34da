"""The mirror's tables and the statements that create them. A file of another version is rebuilt."""

from zlib import crc32

import apsw

from search.analysis import ANALYSES, ANALYSIS_VERSION, STEMMED, Analysis
from search.mirror.files import SqliteTooOld

#: Increment it with any change to the tables or to their contents.
SCHEMA_VERSION = 13
#: Stored as `user_version`: a file of another schema, or of other index terms for the same text, is rebuilt.
FILE_VERSION = SCHEMA_VERSION << 16 | crc32(ANALYSIS_VERSION.encode()) & 0xFFFF
# The part of `application_id` that holds the analysis; a mirror uses no other bits.
_ANALYSIS_BITS = 0xFF

# A WAL race in 3.7.0-3.51.2 corrupts files; crafted FTS5 content overflowed before 3.53.2.
_OLDEST_SQLITE = (3, 53, 2)
if tuple(int(part) for part in apsw.sqlite_lib_version().split(".")) < _OLDEST_SQLITE:
    raise SqliteTooOld(
        f"SQLite {apsw.sqlite_lib_version()} can corrupt mirrors; install apsw>=3.54, with 3.53.2 or later."
    )

# `breadcrumb` of chunks_fts has title, headings and path, `text` nothing of them. `title_key` and `name_key`
# are the folded words of a document's title and of its file name, titles are sorted by `sort_key`. The
# tokenizer is one of `search.analysis`. `family` to `successor` are a `search.retrieval.outdated.Currency`;
# `newer` is what replaces a page from `newer_from` on: `search.mirror.sync.editions`.
# Parts, postings and blocks belong to `search.mirror.postings`, which needs chunk numbers to grow: a part has
# the chunks of each term, a block the lengths, documents, kinds, ids and text keys of chunks.
_CREATE = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;
CREATE TABLE documents (
    doc INTEGER PRIMARY KEY,
    doc_id TEXT NOT NULL UNIQUE,
    path TEXT NOT NULL,
    title_key TEXT NOT NULL,
    name_key TEXT NOT NULL,
    sort_key TEXT NOT NULL,
    first_chunk TEXT NOT NULL,
    lang TEXT NOT NULL,
    trust_level TEXT NOT NULL,
    media TEXT NOT NULL,
    source_key TEXT NOT NULL,
    version_tag TEXT NOT NULL,
    indexed_at REAL NOT NULL,
    dated_at REAL NOT NULL,
    is_dated INTEGER NOT NULL,
    author TEXT NOT NULL,
    family TEXT NOT NULL,
    edition TEXT NOT NULL,
    outdated_from REAL,
    successor TEXT NOT NULL,
    newer INTEGER,
    newer_from REAL
) STRICT;
CREATE INDEX documents_by_title ON documents (title_key);
CREATE INDEX documents_in_order ON documents (sort_key);
CREATE INDEX documents_by_name ON documents (name_key);
CREATE INDEX documents_tagged_version ON documents (version_tag) WHERE version_tag <> '';
CREATE INDEX documents_by_family ON documents (family, source_key) WHERE family <> '';
CREATE INDEX documents_by_successor ON documents (successor) WHERE successor <> '';
CREATE INDEX documents_outdated ON documents (doc) WHERE outdated_from IS NOT NULL OR newer IS NOT NULL;
CREATE TABLE document_tags (
    tag TEXT NOT NULL,
    doc INTEGER NOT NULL REFERENCES documents (doc) ON DELETE CASCADE,
    PRIMARY KEY (tag, doc)
) STRICT, WITHOUT ROWID;
CREATE INDEX document_tags_by_doc ON document_tags (doc);
CREATE TABLE document_values (
    name TEXT NOT NULL,
    value ANY NOT NULL,
    doc INTEGER NOT NULL REFERENCES documents (doc) ON DELETE CASCADE,
    PRIMARY KEY (name, value, doc)
) STRICT, WITHOUT ROWID;
CREATE INDEX document_values_by_doc ON document_values (doc);
CREATE TABLE chunks (
    chunk INTEGER PRIMARY KEY AUTOINCREMENT,
    chunk_id TEXT NOT NULL UNIQUE,
    doc INTEGER NOT NULL REFERENCES documents (doc) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    code_lang TEXT NOT NULL,
    row_version INTEGER NOT NULL
) STRICT;
CREATE INDEX chunks_by_doc ON chunks (doc);
CREATE INDEX chunks_by_code_lang ON chunks (code_lang) WHERE code_lang <> '';
CREATE VIRTUAL TABLE chunks_fts USING fts5 (
    chunk_id UNINDEXED, doc_id UNINDEXED, breadcrumb, text, tokenize = '{tokenizer}'
);
CREATE VIRTUAL TABLE chunks_vocab USING fts5vocab (chunks_fts, 'row');
INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('secure-delete', 1);
CREATE TABLE parts (
    part INTEGER PRIMARY KEY,
    last_chunk INTEGER NOT NULL,
    chunk_count INTEGER NOT NULL
) STRICT;
CREATE TABLE postings (
    part INTEGER NOT NULL,
    term TEXT NOT NULL,
    entries BLOB NOT NULL,
    PRIMARY KEY (part, term)
) STRICT, WITHOUT ROWID;
CREATE TABLE blocks (
    block INTEGER PRIMARY KEY,
    lengths BLOB NOT NULL,
    docs BLOB NOT NULL,
    kinds BLOB NOT NULL,
    ids BLOB NOT NULL,
    text_keys BLOB NOT NULL
) STRICT;
"""

#: The columns of documents that a `DocumentState` has, its id first.
DOCUMENT_COLUMNS = (
    "doc_id",
    "path",
    "title_key",
    "name_key",
    "sort_key",
    "first_chunk",
    "lang",
    "trust_level",
    "media",
    "source_key",
    "version_tag",
    "indexed_at",
    "dated_at",
    "is_dated",
    "author",
    "family",
    "edition",
    "outdated_from",
    "successor",
)


def create_sql(analysis: Analysis = STEMMED) -> str:
    """Return the SQL that creates the tables of a mirror whose text is indexed by `analysis`."""
    number = f"PRAGMA application_id = {ANALYSES.index(analysis)};"
    return number + _CREATE.format(tokenizer=analysis.tokenizer)


def analysis_of(connection: apsw.Connection) -> Analysis:
    """Return the analysis that indexed the text of a mirror."""
    return ANALYSES[int(connection.pragma("application_id")) & _ANALYSIS_BITS]


READ_META = "SELECT value FROM meta WHERE key = ?"
READ_POSITION = "SELECT key, value FROM meta WHERE key BETWEEN 'applied_seq' AND 'applied_token'"
WRITE_META = (
    "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
)

INTEGRITY_CHECK = "INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('integrity-check', 1)"
OPTIMIZE = "INSERT INTO chunks_fts (chunks_fts) VALUES ('optimize')"
