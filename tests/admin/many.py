"""Fills tables by the thousand, as the database makes rows by itself."""

from kebab.tenancy.owner import owner_connection

DOCUMENTS = 100_000
CHUNKS = 1_000_000
#: Of each of the other kinds of rows: more than a list looks at.
OTHERS = 20_000

_SOURCES = """
INSERT INTO search_source (id, workspace_id, key, kind, config, title, description, state, default_tags,
  default_trust, trust_score, total_snippets, rules, library_id, project, created_at)
SELECT md5('s' || n)::uuid, %(ws)s, 's' || n, 'upload', '{}', '', '', 'indexed', '{}', 'unknown', 0, 0, '[]',
  '/local/s' || n, '{}', now()
FROM generate_series(1, 100) n
"""
_VERSIONS = """
INSERT INTO search_sourceversion (id, workspace_id, source_id, tag, commit, title, created_at)
SELECT md5('v' || n)::uuid, %(ws)s, md5('s' || n)::uuid, '', '', '', now() FROM generate_series(1, 100) n
"""
_DOCUMENTS = """
INSERT INTO search_document (id, workspace_id, doc_id, source_id, version_id, path, title, lang, tags,
  trust_level, mime, media, size_bytes, content_hash, overrides, parser_version, chunker_version, indexed_at,
  metadata)
SELECT n, %(ws)s, lpad(to_hex(n), 32, '0')::uuid, md5('s' || of_source)::uuid, md5('v' || of_source)::uuid,
  'a/' || n || '.md', 'Title ' || n, 'en', '{}', 'unknown', 'text/markdown',
  CASE WHEN n = 5 THEN 'pdf' ELSE 'text' END, 7, '', '{}', '', '', now(), '{}'
FROM (
  SELECT n, CASE WHEN n %% 2 = 0 THEN 1 ELSE n %% 100 + 1 END AS of_source
  FROM generate_series(1, %(documents)s) n
) d
"""
_CHUNKS = """
INSERT INTO search_chunk (workspace_id, chunk_id, document_id, ordinal, kind, language, heading_path,
  breadcrumb, section_label, text, source_spans, token_count, embed_hash, row_version)
SELECT %(ws)s, lpad(to_hex(n), 32, '0')::uuid, (n - 1) / 10 + 1, n %% 10, 'info', '', '{}', '', '',
  'A passage.', '[]', 3, lpad(to_hex(n), 32, '0')::uuid, 1
FROM generate_series(1, %(chunks)s) n
"""
_JOBS = """
INSERT INTO ingest_job (id, workspace_id, kind, source_id, payload, state, attempt, stalled_attempts, due_at,
  cancel_requested, rerun_requested, items_total, items_done, bytes_done, chunks_done, calls, counts,
  current_path, error, requested_by, created_at, finished_at)
SELECT md5('j' || n)::uuid, %(ws)s, 'sync_source', md5('s1')::uuid, '{}',
  CASE WHEN n = 5 THEN 'failed' ELSE 'succeeded' END, 1, 0, now(), false, false, 1, 1, 0, 0, 0, '{}',
  '', '', '', now() - n * interval '1 second', now()
FROM generate_series(1, %(others)s) n
"""
_QUARANTINE = """
INSERT INTO ingest_unreadable (workspace_id, version_id, path, size_bytes, content_hash, parser_version,
  is_quarantined, reason, detail, at)
SELECT %(ws)s, md5('v1')::uuid, 'a/' || n, 7, '', '', true, 'quarantined', '', now() - n * interval '1 second'
FROM generate_series(1, %(others)s) n
"""
_USERS = """
INSERT INTO people_user (password, is_superuser, first_name, last_name, is_staff, is_active, date_joined,
  email, display_name, proved_email)
SELECT '', false, '', '', false, true, now(), 'p' || n || '@example.org', '', ''
FROM generate_series(1, %(others)s) n
"""
_MEMBERS = """
INSERT INTO people_membership (workspace_id, user_id, role, created_at)
SELECT %(ws)s, id, 'viewer', now() FROM people_user WHERE email LIKE 'p%%'
"""
_TOKENS = """
INSERT INTO people_apitoken (id, workspace_id, name, prefix, secret_sha256, scopes, created_at)
SELECT md5('t' || n)::uuid, %(ws)s, '', 't' || n, '', '{}', now() FROM generate_series(1, %(others)s) n
"""
_EVENTS = """
INSERT INTO people_auditevent (id, workspace_id, actor, action, subject, detail, at)
SELECT md5('e' || n)::uuid, %(ws)s, 'p' || n %% 100, CASE WHEN n = 5 THEN 'rare' ELSE 'common' END, '', '{}',
  now() - n * interval '1 second'
FROM generate_series(1, %(others)s) n
"""
_ALL = (
    _SOURCES,
    _VERSIONS,
    _DOCUMENTS,
    _CHUNKS,
    _JOBS,
    _QUARANTINE,
    _USERS,
    _MEMBERS,
    _TOKENS,
    _EVENTS,
)
_TABLES = (
    "search_source",
    "search_sourceversion",
    "search_document",
    "search_chunk",
    "ingest_job",
    "ingest_unreadable",
    "people_user",
    "people_membership",
    "people_apitoken",
    "people_auditevent",
)


def fill(workspace, *, documents=DOCUMENTS, chunks=CHUNKS, others=OTHERS):
    """Make the rows in `workspace`, committed, and let the planner know of them."""
    values = {"ws": workspace.pk, "documents": documents, "chunks": chunks, "others": others}
    with owner_connection() as owner:
        owner.execute("SET kebab.workspace_id = '*'")
        for statement in _ALL:
            owner.execute(statement, values)
        for table in _TABLES:
            owner.execute(f"ANALYZE {table}")
