"""Fills tables by the thousand, as the database makes rows by itself."""

from kebab.tenancy.owner_connection import owner_connection

#: How many rows there are of each kind.
COUNTS = {
    "documents": 100_000,
    "chunks": 1_000_000,
    "sources": 100,
    # Of those that there are never many of: more than a page shows.
    "few": 200,
    # More than a list looks at.
    "others": 20_000,
}

_WORKSPACES = """
INSERT INTO people_workspace (id, slug, name, corpus_id, settings, head_seq, created_at)
SELECT md5('w' || n)::uuid, 'w' || n, '', md5('w' || n)::uuid, '{}', 0, now()
FROM generate_series(1, %(few)s) n
"""
_GROUPS = """
INSERT INTO people_group (id, workspace_id, name, created_at)
SELECT md5('g' || n)::uuid, %(ws)s, 'g' || n, now() FROM generate_series(1, %(few)s) n
"""
_INVITATIONS = """
INSERT INTO people_invitation (id, workspace_id, email, role, group_ids, secret_sha256, invited_by,
  created_at, expires_at)
SELECT md5('i' || n)::uuid, %(ws)s, 'i' || n || '@example.org', 'viewer', '{}', sha256(('i' || n)::bytea),
  'p' || n || '@example.org', now() - n * interval '1 second', now() + interval '1 day'
FROM generate_series(1, %(few)s) n
"""
_SPACES = """
INSERT INTO search_embeddingspace (id, workspace_id, model, revision, dim, query_prefix, passage_prefix,
  languages, state, epoch, is_indexed, retire_at, created_at)
SELECT n, %(ws)s, 'm' || n, '1', 2, '', '', '{}', 'retired', 0, false, now(), now()
FROM generate_series(1, %(few)s) n
"""

_SOURCES = """
INSERT INTO search_source (id, workspace_id, key, kind, config, title, description, state, default_tags,
  default_trust, trust_score, total_snippets, rules, library_id, project, created_at)
SELECT md5('s' || n)::uuid, %(ws)s, 's' || n, 'upload', '{}', '', '', 'indexed', '{}', 'unknown', 0, 0, '[]',
  '/local/s' || n, '{}', now()
FROM generate_series(1, %(sources)s) n
"""
_VERSIONS = """
INSERT INTO search_sourceversion (id, workspace_id, source_id, tag, commit, title, created_at)
SELECT md5('v' || n)::uuid, %(ws)s, md5('s' || n)::uuid, '', '', '', now()
FROM generate_series(1, %(sources)s) n
"""
_DOCUMENTS = """
INSERT INTO search_document (id, workspace_id, doc_id, source_id, version_id, path, title, lang, tags,
  trust_level, mime, media, size_bytes, content_hash, overrides, parser_version, chunker_version, indexed_at,
  metadata)
SELECT n, %(ws)s, lpad(to_hex(n), 32, '0')::uuid, md5('s' || of_source)::uuid, md5('v' || of_source)::uuid,
  'a/' || n || '.md', 'Title ' || n, 'en', '{}', 'unknown', 'text/markdown',
  CASE WHEN n = 5 THEN 'pdf' ELSE 'text' END, 7, '', '{}', '', '', now(), '{}'
FROM (
  SELECT n, CASE WHEN n %% 2 = 0 THEN 1 ELSE n %% %(sources)s + 1 END AS of_source
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
_STATEMENTS = {
    "people_workspace": _WORKSPACES,
    "people_group": _GROUPS,
    "people_invitation": _INVITATIONS,
    "search_embeddingspace": _SPACES,
    "search_source": _SOURCES,
    "search_sourceversion": _VERSIONS,
    "search_document": _DOCUMENTS,
    "search_chunk": _CHUNKS,
    "ingest_job": _JOBS,
    "ingest_unreadable": _QUARANTINE,
    "people_user": _USERS,
    "people_membership": _MEMBERS,
    "people_apitoken": _TOKENS,
    "people_auditevent": _EVENTS,
}


def fill(workspace, *, tables=tuple(_STATEMENTS), **counts):
    """Make the rows of `tables` in `workspace` that aren't there yet, committed.

    The planner knows of each table before others refer to it. `counts` are those of `COUNTS`.
    """
    with owner_connection() as owner:
        owner.execute("SET kebab.workspace_id = '*'")
        for table in tables:
            values = {"ws": workspace.pk, **COUNTS, **counts}
            owner.execute(f"{_STATEMENTS[table]} ON CONFLICT DO NOTHING", values)
            owner.execute(f"ANALYZE {table}")
