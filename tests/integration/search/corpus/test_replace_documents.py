"""Several documents written in one transaction: each as if written alone, all or none."""

import uuid

import numpy as np
import pytest
from django.db import DataError, IntegrityError, transaction

from search.corpus import DocumentsChanged, replace_document, replace_documents
from search.corpus.chunk_rows import insert_rows
from search.models import Change, Chunk, ChunkVector, Document, EmbeddingSpace
from tests.support.concurrency import at_once
from tests.support.corpus import chunk, draft, make_place, write

ODD = "quotes \" ' \\ \\n, a brace {}, a percent %s, 𠮷 and ☃\u2028\x01"


def places(workspace, *paths):
    return [make_place(workspace, path) for path in paths]


@pytest.mark.django_db
def test_batch_write_returns_outcomes_and_numbers_in_order(workspace):
    write(workspace, "same.md", "one")
    write(workspace, "old.md", "one", "two")
    same, new, old, other = places(workspace, "same.md", "new.md", "old.md", "b.md")
    kinds = []
    written = replace_documents(
        [(same, draft("one")), (new, draft("three")), (old, draft("two")), (other, draft())], kinds.extend
    )
    assert kinds == [each.outcome for each in written] == ["unchanged", "new", "updated", "new"]
    assert [each.seq for each in written] == [None, 3, 4, 5]
    assert [each.doc_id for each in written] == [place.doc_id for place in (same, new, old, other)]
    assert list(Change.objects.filter(seq__gt=2).order_by("seq").values_list("doc_id", flat=True)) == [
        place.doc_id for place in (new, old, other)
    ]
    texts = Chunk.objects.order_by("document__path", "ordinal").values_list("document__path", "text")
    assert list(texts) == [("new.md", "three"), ("old.md", "two"), ("same.md", "one")]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda rows: rows.update(overrides={"title": "Stated"}), "two"),
        (lambda rows: rows.update(content_hash="f" * 64), "one"),
        (lambda rows: rows.delete(), "one"),
    ],
    ids=["restated", "replaced", "deleted"],
)
def test_draft_of_a_document_that_has_changed_is_refused(workspace, change, text):
    write(workspace, "a.md", "one")
    known = Document.objects.get()
    wanted = draft(text, based_on=known)
    change(Document.objects.all())
    with pytest.raises(DocumentsChanged) as refused:
        replace_documents([(make_place(workspace, "a.md"), wanted)])
    assert refused.value.doc_ids == {known.doc_id}


@pytest.mark.django_db
@pytest.mark.parametrize("refused", [draft("two", mime="x" * 300), draft(chunk("a\x00b"))])
def test_document_that_postgres_refuses_undoes_all(workspace, refused):
    good, bad = places(workspace, "good.md", "bad.md")
    with pytest.raises(DataError):
        replace_documents([(good, draft("one")), (bad, refused)])
    assert not Document.objects.exists()
    assert not Change.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_two_writers_of_the_same_documents_never_wait_for_each_other(workspace):
    them = places(workspace, *(f"{number}.md" for number in range(12)))

    def writer(order, text):
        return lambda: replace_documents([(place, draft(f"{text} {place.path}")) for place in order])

    for text in ("first", "second", "third"):
        one, other = at_once([writer(them, text), writer(them[::-1], text)])
        outcomes = {each.doc_id: {each.outcome} for each in one}
        for each in other:
            outcomes[each.doc_id].add(each.outcome)
        assert all("unchanged" in kinds and len(kinds) == 2 for kinds in outcomes.values())
    assert Document.objects.count() == Chunk.objects.count() == 12


@pytest.mark.django_db
def test_inserted_rows_equal_rows_saved_by_the_model(workspace):
    written = replace_document(make_place(workspace, "odd.md"), draft("one"))
    document = Document.objects.get(doc_id=written.doc_id)
    row = Chunk(
        workspace=workspace,
        chunk_id=uuid.uuid4(),
        document=document,
        ordinal=7,
        kind="code",
        language="c++",
        heading_path=[ODD, "", "NULL", "{a,b}"],
        breadcrumb=ODD,
        section_label="",
        text=ODD,
        source_spans=[{"kind": "line", "start": 1, "end": 2, "of": [ODD, None, 1.5]}],
        token_count=3,
        embed_hash=uuid.uuid4(),
    )
    insert_rows([row])
    stored = Chunk.objects.get(chunk_id=row.chunk_id)
    assert {field.attname: getattr(stored, field.attname) for field in Chunk._meta.concrete_fields} == {
        field.attname: getattr(row, field.attname) for field in Chunk._meta.concrete_fields
    }


@pytest.mark.django_db
def test_every_finite_half_float_is_stored_unchanged(workspace):
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    parts = np.split(halves[np.isfinite(halves)], 8)
    write(workspace, "a.md", *(f"chunk {number}" for number in range(len(parts))))
    rows = vector_rows(workspace, parts)
    insert_rows(rows)
    for row, part in zip(rows, parts, strict=True):
        stored = np.array(ChunkVector.objects.get(chunk_id=row.chunk_id).embedding, dtype=np.float16)
        assert np.array_equal(stored, part)


@pytest.mark.django_db
def test_ignore_conflicts_keeps_existing_rows(workspace):
    write(workspace, "a.md", "one", "two")
    insert_rows(vector_rows(workspace, [[0.25, 1.0]]))
    again = vector_rows(workspace, [[0.5, 2.0], np.array([0.75, 3.0], dtype=np.float32)])
    with pytest.raises(IntegrityError), transaction.atomic():
        insert_rows(again)
    insert_rows(again, ignore_conflicts=True)
    assert stored_vectors(again) == [[0.25, 1.0], [0.75, 3.0]]


@pytest.mark.django_db
def test_rows_of_many_statements_are_all_stored(workspace, monkeypatch):
    monkeypatch.setattr("search.corpus.chunk_rows._BATCH", 2)
    write(workspace, "a.md", *(f"chunk {number}" for number in range(5)))
    rows = vector_rows(workspace, [[float(number)] for number in range(5)])
    insert_rows(rows)
    assert stored_vectors(rows) == [[0.0], [1.0], [2.0], [3.0], [4.0]]
    assert replace_documents([], lambda outcomes: None) == []


def vector_rows(workspace, vectors):
    """Return an unsaved row for each vector, for the first chunks of the workspace."""
    identity = {"model": "m", "revision": "1", "dim": len(vectors[0])}
    space, _ = EmbeddingSpace.objects.get_or_create(workspace=workspace, **identity)
    return [
        ChunkVector(
            workspace=workspace,
            space=space,
            chunk_id=chunk.chunk_id,
            version_id=chunk.document.version_id,
            embed_hash=chunk.embed_hash,
            embedding=vector,
        )
        for chunk, vector in zip(Chunk.objects.order_by("chunk_id"), vectors, strict=False)
    ]


def stored_vectors(rows):
    return [ChunkVector.objects.get(chunk_id=row.chunk_id).embedding for row in rows]
