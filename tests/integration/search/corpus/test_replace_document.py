"""Writing of a document: only rows that differ are changed."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from django.db import IntegrityError
from django.utils import timezone

from kebab.identity.models import Workspace
from search.corpus import Outcome, delete_documents, replace_document, update_document_fields
from search.models import Change, Chunk, ChunkVector, Document, EmbeddingSpace
from tests.support.corpus import chunk, draft, make_place, make_workspace, write

pytestmark = pytest.mark.django_db


def chunks_of(written):
    return Chunk.objects.filter(document__doc_id=written.doc_id).order_by("ordinal")


def head_of(workspace):
    return Workspace.objects.get(pk=workspace.pk).head_seq


def everything(workspace):
    """Return every row of the workspace, as values."""
    models = (Document, Chunk, ChunkVector, Change)
    return [list(model.objects.in_workspace(workspace).order_by("pk").values()) for model in models]


def make_space(workspace, **fields):
    values = {"model": "hash", "revision": "1", "dim": 2, **fields}
    return EmbeddingSpace.objects.create(workspace=workspace, **values)


def embed(space, chunks, vector=(1, 0)):
    for row in chunks:
        ChunkVector.objects.create(
            workspace_id=row.workspace_id,
            space=space,
            chunk_id=row.chunk_id,
            version_id=row.document.version_id,
            embed_hash=row.embed_hash,
            embedding=np.array(vector, np.float32),
        )


def test_new_document_has_its_chunks_and_the_first_number(workspace):
    written = write(workspace, "a.md", "one", "two")
    assert (written.outcome, written.seq, written.chunks) == ("new", 1, 2)
    assert [row.text for row in chunks_of(written)] == ["one", "two"]
    change = Change.objects.get(workspace=workspace)
    assert (change.seq, change.doc_id, change.op) == (1, written.doc_id, "upsert")
    assert head_of(workspace) == 1


def test_changed_document_is_updated_under_its_id(workspace):
    first = write(workspace, "a.md", "one")
    second = write(workspace, "a.md", "two")
    assert (second.outcome, second.seq, second.doc_id) == ("updated", 2, first.doc_id)
    assert [row.text for row in chunks_of(second)] == ["two"]


def test_same_draft_again_changes_nothing(workspace):
    place, same = make_place(workspace), draft("one", "two", tags=("a",), metadata={"x": [1]})
    replace_document(place, same)
    before = everything(workspace)
    again = replace_document(place, same)
    assert (again.outcome, again.seq) == ("unchanged", None)
    assert everything(workspace) == before
    assert head_of(workspace) == 1


def test_touched_file_changes_only_its_stored_time(workspace):
    write(workspace, "a.md", "one", source_mtime_ns=1)
    again = write(workspace, "a.md", "one", source_mtime_ns=2)
    document = Document.objects.get()
    assert (again.outcome, document.source_mtime_ns, head_of(workspace)) == ("unchanged", 2, 1)


def test_restated_field_updates_the_document_and_keeps_its_chunks(workspace, subtests):
    write(workspace, "a.md", "one")
    before = list(Chunk.objects.values())
    for stated in (
        {"title": "Another"},
        {"lang": "de"},
        {"tags": ("new",)},
        {"trust_level": "primary"},
        {"metadata": {"a": 1}},
        {"overrides": {"title": "Guide"}},
        {"parser_version": "p2"},
        {"mime": "text/plain"},
    ):
        with subtests.test(stated=stated):
            assert write(workspace, "a.md", "one", **stated).outcome == "updated"
            document = Document.objects.values().get()
            for name, value in stated.items():
                assert document[name] == (list(value) if isinstance(value, tuple) else value)
            assert list(Chunk.objects.values()) == before


def test_moved_chunk_keeps_its_id_and_raises_its_row_version(workspace, subtests):
    for moved in (
        {"ordinal": 1},
        {"heading": "Renamed"},
        {"section_label": "Elsewhere"},
        {"language": "python"},
        {"kind": "code"},
        {"plain": "\x02one\x02"},
        {"spans": ({"kind": "line", "start": 99, "end": 100},)},
    ):
        with subtests.test(moved=moved):
            path = f"{'-'.join(moved)}.md"
            before = chunks_of(write(workspace, path, chunk("one"))).get()
            wanted = chunk("one", **moved)
            after = chunks_of(write(workspace, path, wanted)).get()
            assert after.chunk_id == before.chunk_id
            assert after.plain == wanted.plain
            assert (before.row_version, after.row_version) == (1, 2)


def test_insertion_moves_the_chunks_behind_it_and_others_keep_their_rows(workspace):
    before = {row["text"]: row for row in chunks_of(write(workspace, "a.md", "one", "two")).values()}
    after = chunks_of(write(workspace, "a.md", "one", "between", "two"))
    assert [(row.text, row.row_version) for row in after] == [("one", 1), ("between", 1), ("two", 2)]
    assert after.values().first() == before["one"]
    assert after.last().chunk_id == before["two"]["chunk_id"]


def test_vector_is_deleted_with_a_deleted_or_renamed_chunk(workspace):
    space = make_space(workspace)
    drafts = [chunk("one", heading="Old"), chunk("two", 1, heading="Kept"), chunk("three", 2)]
    embed(space, chunks_of(write(workspace, "a.md", *drafts)))
    write(workspace, "a.md", chunk("one", heading="New"), drafts[1])
    kept = Chunk.objects.get(text="two").chunk_id
    assert [vector.chunk_id for vector in ChunkVector.objects.all()] == [kept]


def test_chunk_that_only_moved_keeps_its_vector(workspace):
    written = write(workspace, "a.md", "one")
    embed(make_space(workspace), chunks_of(written))
    before = list(ChunkVector.objects.values_list("chunk_id", "embed_hash"))
    write(workspace, "a.md", "zero", "one")
    assert list(ChunkVector.objects.values_list("chunk_id", "embed_hash")) == before


def test_equal_text_takes_over_the_vector_it_already_has(workspace):
    embed(make_space(workspace), chunks_of(write(workspace, "a.md", "one")), (0, 1))
    write(workspace, "b.md", chunk("one", heading="Old"), source="web", version="v2")
    assert ChunkVector.objects.count() == 1
    renamed = chunks_of(write(workspace, "b.md", "one", source="web", version="v2")).get()
    taken = ChunkVector.objects.get(chunk_id=renamed.chunk_id)
    assert list(taken.embedding) == [0, 1]
    assert taken.version_id == renamed.document.version_id


def test_vectors_are_not_taken_over_in_an_ended_space_or_from_another_workspace(workspace):
    ended = make_space(workspace, state="retired", retire_at=timezone.now())
    embed(ended, chunks_of(write(workspace, "a.md", "one")))
    elsewhere = make_workspace()
    embed(make_space(elsewhere), chunks_of(write(elsewhere, "a.md", "one")))
    write(workspace, "b.md", "one")
    assert ChunkVector.objects.in_workspace(workspace).count() == 1


def test_vectors_are_taken_over_in_every_space_that_is_filled(workspace):
    kept_until = timezone.now() + timedelta(days=1)
    spaces = [
        make_space(workspace, model="live"),
        make_space(workspace, model="next", state="building"),
        make_space(workspace, model="last", state="retired", retire_at=kept_until),
    ]
    written = write(workspace, "a.md", "one")
    for space in spaces:
        embed(space, chunks_of(written))
    write(workspace, "b.md", "one")
    assert ChunkVector.objects.in_workspace(workspace).count() == 6


def test_error_in_the_before_numbering_hook_rolls_back_the_write(workspace):
    outcomes: list[Outcome] = []
    place = make_place(workspace)
    replace_document(place, draft("one"), outcomes.append)
    replace_document(place, draft("one"), outcomes.append)
    before = everything(workspace)

    def refuse(outcome):
        outcomes.append(outcome)
        raise PermissionError(outcome)

    with pytest.raises(PermissionError):
        replace_document(place, draft("two", "three", title="Other"), refuse)
    assert outcomes == ["new", "unchanged", "updated"]
    assert everything(workspace) == before
    assert head_of(workspace) == 1


def test_deleting_removes_chunks_and_vectors_and_is_logged(workspace):
    gone = write(workspace, "a.md", "one", "two")
    kept = write(workspace, "b.md", "one")
    embed(make_space(workspace), [*chunks_of(gone), *chunks_of(kept)])
    assert delete_documents(workspace, [gone.doc_id]) == 3
    assert [document.doc_id for document in Document.objects.all()] == [kept.doc_id]
    assert {row.document.doc_id for row in Chunk.objects.all()} == {kept.doc_id}
    assert ChunkVector.objects.count() == 1
    assert list(Change.objects.filter(op="delete").values_list("seq", "doc_id")) == [(3, gone.doc_id)]


def test_deleting_a_document_of_another_workspace_changes_nothing(workspace):
    other = make_workspace()
    theirs = write(other, "a.md", "one")
    assert delete_documents(workspace, [theirs.doc_id]) is None
    assert (head_of(workspace), Document.objects.count()) == (0, 1)


def test_several_deletions_are_numbered_one_by_one(workspace):
    twin = make_workspace(corpus_id=workspace.corpus_id)
    theirs = write(twin, "a.md", "one")
    written = [write(workspace, f"{name}.md", "one") for name in "abc"]
    assert written[0].doc_id == theirs.doc_id
    assert delete_documents(workspace, [each.doc_id for each in written]) == 6
    numbers = Change.objects.in_workspace(workspace).filter(op="delete").order_by("seq")
    assert list(numbers.values_list("seq", flat=True)) == [4, 5, 6]
    assert {change.doc_id for change in numbers} == {each.doc_id for each in written}
    assert [row.workspace_id for row in Chunk.objects.all()] == [twin.pk]


NEW_YEAR = datetime(2024, 1, 1, tzinfo=UTC)


def write_dated(workspace, text="one", day=1, **fields):
    """Write a document whose file has changed on this day of 2024, and return its author and date."""
    changed_at = NEW_YEAR + timedelta(days=day - 1)
    write(workspace, "a.md", text, source_mtime_ns=int(changed_at.timestamp()) * 10**9, **fields)
    document = Document.objects.get()
    return document.author, document.dated_at


def test_author_and_date_are_as_stated_else_the_date_of_the_file(workspace):
    stated = {"author": ["Ada", "Bo"], "date": "2020-01-01"}
    assert write_dated(workspace, metadata=stated) == ("Ada, Bo", datetime(2020, 1, 1, tzinfo=UTC))
    assert write_dated(workspace, day=2, metadata={}) == ("", NEW_YEAR + timedelta(days=1))
    assert write_dated(workspace, "two", modified_at=NEW_YEAR, day=3) == ("", NEW_YEAR)
    write(workspace, "b.md", "one")
    document = Document.objects.get(path="b.md")
    assert document.dated_at == document.indexed_at


def test_unchanged_content_keeps_its_date_when_the_file_time_changes(workspace):
    write_dated(workspace)
    assert write_dated(workspace, day=2) == ("", NEW_YEAR)
    assert head_of(workspace) == 1
    assert write_dated(workspace, day=2, parser_version="p2") == ("", NEW_YEAR)
    assert write_dated(workspace, "two", day=2) == ("", NEW_YEAR + timedelta(days=1))


def test_metadata_that_is_stated_later_changes_author_and_date(workspace):
    write_dated(workspace)
    update_document_fields(Document.objects.get(), metadata={"author": "Ada", "date": "2020-01-01"})
    document = Document.objects.get()
    assert (document.author, document.dated_at) == ("Ada", datetime(2020, 1, 1, tzinfo=UTC))


def test_restating_changes_a_field_and_is_numbered(workspace):
    write(workspace, "a.md", "one")
    assert update_document_fields(Document.objects.get(), tags=["x"], trust_level="primary") == 2
    document = Document.objects.get()
    assert (document.tags, document.trust_level, head_of(workspace)) == (["x"], "primary", 2)


def test_two_workspaces_with_one_corpus_id_have_the_same_ids(workspace):
    twin = make_workspace(corpus_id=workspace.corpus_id)
    stranger = make_workspace()
    ids = [
        (written.doc_id, [row.chunk_id for row in Chunk.objects.in_workspace(space).order_by("ordinal")])
        for space in (workspace, twin, stranger)
        for written in [write(space, "a.md", "one", "two")]
    ]
    assert ids[0] == ids[1]
    assert ids[0] != ids[2]


def test_write_into_a_deleted_workspace_is_refused(workspace):
    place = make_place(workspace)
    Workspace.objects.filter(pk=workspace.pk).delete()
    with pytest.raises((LookupError, IntegrityError)):
        replace_document(place, draft("one"))
    assert not Document.objects.exists()
