"""The database refuses inconsistent rows on its own."""

import uuid

import pytest
from django.db import IntegrityError, connection, transaction

from search.models import Chunk, ChunkVector, Document, EmbeddingSpace, Source, SourceVersion
from tests.support.corpus import make_workspace, write

pytestmark = pytest.mark.django_db

COPY_CHUNK = """
INSERT INTO search_chunk (workspace_id, chunk_id, document_id, ordinal, kind, language, heading_path,
    breadcrumb, section_label, text, source_spans, token_count, embed_hash, row_version)
SELECT %s, %s, document_id, ordinal, kind, language, heading_path, breadcrumb, section_label, text,
    source_spans, token_count, embed_hash, row_version FROM search_chunk LIMIT 1
"""
COPY_DOCUMENT = """
INSERT INTO search_document (workspace_id, doc_id, source_id, version_id, path, title, lang, tags,
    trust_level, mime, media, size_bytes, content_hash, overrides, parser_version, chunker_version,
    indexed_at, metadata)
SELECT %s, %s, source_id, version_id, path, title, lang, tags, trust_level, mime, media, size_bytes,
    content_hash, overrides, parser_version, chunker_version, indexed_at, metadata
FROM search_document LIMIT 1
"""


def execute(sql, *values):
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.rowcount


def assert_refused(constraint, sql, *values):
    with pytest.raises(IntegrityError, match=constraint):
        execute(sql, *values)


def test_chunk_points_to_a_document_of_its_own_workspace(workspace):
    write(workspace, "a.md", "one")
    assert execute(COPY_CHUNK, workspace.pk, uuid.uuid4()) == 1
    assert_refused("search_chunk_document_id_fk", COPY_CHUNK, make_workspace().pk, uuid.uuid4())


def test_document_points_to_a_source_and_version_of_its_own_workspace(workspace):
    write(workspace, "a.md", "one")
    assert execute(COPY_DOCUMENT, workspace.pk, uuid.uuid4()) == 1
    assert_refused("search_document_(source|version)_id_fk", COPY_DOCUMENT, make_workspace().pk, uuid.uuid4())


def test_vector_belongs_to_a_chunk_and_a_space_of_its_workspace(workspace):
    write(workspace, "a.md", "one")
    theirs = EmbeddingSpace.objects.create(workspace=make_workspace(), model="m", revision="1", dim=2)
    chunk = Chunk.objects.get()
    fields = ChunkVector._meta.local_concrete_fields
    columns = [field.column for field in fields if not field.has_db_default()]
    sql = (
        f"INSERT INTO search_chunkvector ({', '.join(columns)})"  # noqa: S608  # names of our own columns
        f" VALUES ({', '.join(['%s'] * len(columns))})"
    )
    values = {
        "workspace_id": workspace.pk,
        "space_id": theirs.pk,
        "chunk_id": chunk.chunk_id,
        "version_id": uuid.uuid4(),
        "embed_hash": uuid.uuid4(),
        "embedding": "[1,0]",
    }
    assert_refused("search_chunkvector_space_id_fk", sql, *(values[column] for column in columns))


def test_value_outside_its_set_is_refused(workspace, subtests):
    write(workspace, "a.md", "one")
    for constraint, sql in (
        ("document_path_relative", "UPDATE search_document SET path = ''"),
        ("document_path_relative", "UPDATE search_document SET path = '/etc/passwd'"),
        ("document_trust_known", "UPDATE search_document SET trust_level = 'holy'"),
        ("document_media_known", "UPDATE search_document SET media = 'smell'"),
        ("chunk_kind_known", "UPDATE search_chunk SET kind = 'poem'"),
        ("source_state_known", "UPDATE search_source SET state = 'odd'"),
        ("change_op_known", "UPDATE search_change SET op = 'fix'"),
        ("change_seq_from_one", "UPDATE search_change SET seq = 0"),
        ("head_seq_positive", "UPDATE people_workspace SET head_seq = -1"),
    ):
        with subtests.test(sql=sql):
            assert_refused(constraint, sql)


def test_document_id_and_change_number_are_unique(workspace):
    doc_id = write(workspace, "a.md", "one").doc_id
    assert_refused("document_id_once", COPY_DOCUMENT, workspace.pk, doc_id)
    assert_refused(
        "pkey",
        "INSERT INTO search_change SELECT * FROM search_change WHERE workspace_id = %s",
        workspace.pk,
    )


def test_workspace_has_one_live_space(workspace):
    make = {"workspace": workspace, "revision": "1", "dim": 2}
    EmbeddingSpace.objects.create(**make, model="a")
    EmbeddingSpace.objects.create(**make, model="b", state="building")
    with pytest.raises(IntegrityError, match="space_one_live"), transaction.atomic():
        EmbeddingSpace.objects.create(**make, model="c")


def test_deleting_a_workspace_row_takes_all_its_rows_along(workspace):
    write(workspace, "a.md", "one")
    kept = make_workspace()
    write(kept, "a.md", "one")
    execute("DELETE FROM people_workspace WHERE id = %s", workspace.pk)
    for model in (Source, SourceVersion, Document, Chunk):
        assert {row.workspace_id for row in model.objects.all()} == {kept.pk}
