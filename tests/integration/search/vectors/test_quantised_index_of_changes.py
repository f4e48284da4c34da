"""Quantised scans after vectors were written, deleted, replaced or copied."""

import threading

from django.db import OperationalError, connection, transaction
from django.db.models import F

from kebab.identity.reader import Reader
from kebab.people.operator import command_line_access
from kebab.people.workspaces import delete_workspace
from kebab.tenancy.current_workspace import acting_everywhere
from kebab.tenancy.roles import owner_connection
from search.access.scope import resolve_scope
from search.corpus.chunk_rows import insert_rows
from search.embedders.configured import configured_embedder
from search.models import Chunk, ChunkVector, Document, EmbeddingSpace
from search.retrieval.query.filters import SearchFilters
from search.retrieval.types import Mode
from search.vectors import nearest, quantised_index
from search.vectors.nearest import QueryPoint
from search.vectors.quantised_rows import read_all_rows
from search.vectors.spaces import live_space
from tests.integration.search.vectors.comparison import (
    QUERIES,
    assert_both_agree,
    assert_equal,
    compare_all,
    find,
    find_nearest,
    row_of,
)
from tests.support.corpus import make_workspace, write
from tests.support.search import ask, embed, paths, sync


def write_pears(workspace, path, count, text="apple pear"):
    write(workspace, path, *(f"{text}{n}" for n in range(count)))
    return embed(workspace)


def test_vector_written_after_is_found(quantised_workspace, codes):
    write_pears(quantised_workspace, "new.md", 30)
    assert_both_agree(quantised_workspace)
    assert len(find(quantised_workspace, "pear7")[0]) == 10
    for number in range(8):  # each in a piece of its own, put together now and then
        write(quantised_workspace, f"{number}.md", f"apple number3 again{number}")
        embed(quantised_workspace)
        assert_both_agree(quantised_workspace)
    (held,) = codes._open_codes.values()
    assert [len(piece) for piece in held.since] == [38]


def test_deleted_vector_is_not_found_and_those_behind_it_are(quantised_workspace):
    assert paths(ask(quantised_workspace, "apple number3", Mode.VECTOR))[0] == "rare.md"
    Document.objects.filter(path="rare.md").delete()
    assert "rare.md" not in paths(ask(quantised_workspace, "apple number3", Mode.VECTOR))
    gone = find(quantised_workspace, "apple number3", 60)[0].keys()
    for model in (ChunkVector, Chunk):
        model.objects.filter(chunk_id__in=gone).delete()
    for query in QUERIES:
        left = find(quantised_workspace, query, 20)[0]
        assert len(left) == 20
        assert not left.keys() & gone
        assert_equal(left, compare_all(quantised_workspace, query, 20))


def test_replaced_vector_counts_as_it_is_now(quantised_workspace):
    before = find(quantised_workspace, "apple number3", 5)[0].keys()
    chunk = ChunkVector.objects.filter(chunk_id__in=before).first()
    other = ChunkVector.objects.exclude(chunk_id__in=before).first()
    with transaction.atomic():
        ChunkVector.objects.filter(chunk_id=chunk.chunk_id).delete()
        insert_rows([ChunkVector(**row_of(chunk) | {"embedding": other.embedding})])
        EmbeddingSpace.objects.update(epoch=99)
    assert_both_agree(quantised_workspace)


def test_late_commit_is_not_overlooked(quantised_workspace):
    """Commit a transaction with a smaller id after one with a larger id."""
    write(quantised_workspace, "late.md", "apple latecomer")
    space = embed(quantised_workspace)
    vector = ChunkVector.objects.get(chunk_id=Chunk.objects.get(text="apple latecomer").chunk_id)
    ChunkVector.objects.filter(chunk_id=vector.chunk_id).delete()
    written, go = threading.Event(), threading.Event()

    @acting_everywhere()
    def late():
        try:
            with transaction.atomic():
                insert_rows([ChunkVector(**row_of(vector))])
                written.set()
                go.wait(30)
        finally:
            connection.close()

    thread = threading.Thread(target=late)
    thread.start()
    assert written.wait(30)
    other = ChunkVector.objects.first()
    ChunkVector.objects.filter(chunk_id=other.chunk_id).delete()
    insert_rows([ChunkVector(**row_of(other))])
    EmbeddingSpace.objects.filter(pk=space.pk).update(epoch=F("epoch") + 1)
    find(quantised_workspace, "latecomer")
    go.set()
    thread.join()
    EmbeddingSpace.objects.filter(pk=space.pk).update(epoch=F("epoch") + 1)
    assert next(iter(find(quantised_workspace, "latecomer")[0])) == vector.chunk_id.hex
    assert_both_agree(quantised_workspace)


def test_code_file_is_shared_between_processes(quantised_workspace, codes, monkeypatch, tmp_path):
    write_pears(quantised_workspace, "new.md", 1)
    other = quantised_index.CodeCache(lambda workspace_id: tmp_path / str(workspace_id))
    with monkeypatch.context() as patched:
        patched.setattr(nearest, "code_cache", lambda: other)
        assert_both_agree(quantised_workspace)
    other.build(quantised_workspace.pk, live_space(quantised_workspace))
    assert_both_agree(quantised_workspace)
    assert [len(held.base) for held in codes._open_codes.values()] == [401]


def test_space_that_has_grown_by_a_quarter_gets_another_file(quantised_workspace, codes, monkeypatch):
    monkeypatch.setattr(quantised_index, "_NEW_LEAST", 50)
    asked = []
    monkeypatch.setattr(codes, "_build_in_background", lambda workspace_id, space: asked.append(space))
    write_pears(quantised_workspace, "new.md", 90)
    find(quantised_workspace, "apple")
    assert asked == []
    write_pears(quantised_workspace, "newer.md", 90, "apple plum")
    find(quantised_workspace, "apple")
    assert len(asked) == 1
    codes.build(quantised_workspace.pk, asked[0])
    assert len(codes._open_codes[asked[0].space_id].base) == 580
    assert_both_agree(quantised_workspace)


def test_many_new_vectors_are_read_in_the_background(quantised_workspace, codes, monkeypatch):
    monkeypatch.setattr(quantised_index, "_MOST_AT_ONCE", 10)
    asked = []
    monkeypatch.setattr(codes, "_build_in_background", lambda workspace_id, space: asked.append(space))
    write_pears(quantised_workspace, "new.md", 30)
    assert_both_agree(quantised_workspace, by_codes=False)
    assert asked


def test_codes_are_prepared_once_and_again_when_much_has_changed(quantised_workspace, codes, monkeypatch):
    monkeypatch.setattr(quantised_index, "code_cache", lambda: codes)
    monkeypatch.setattr(quantised_index, "_NEW_LEAST", 50)
    read = []
    monkeypatch.setattr(
        quantised_index, "read_all_rows", lambda *given: read.append(given) or read_all_rows(*given)
    )
    quantised_index.prepare_codes(EmbeddingSpace.objects.get(workspace=quantised_workspace.pk))
    quantised_index.prepare_codes(write_pears(quantised_workspace, "new.md", 30))
    assert read == []
    quantised_index.prepare_codes(write_pears(quantised_workspace, "newer.md", 90, "apple plum"))
    assert len(read) == 1
    assert_both_agree(quantised_workspace)


def test_another_workspace_is_not_found(quantised_workspace):
    twin = make_workspace(corpus_id=quantised_workspace.corpus_id)
    write(twin, "a.md", "apple number3")
    embed(twin)
    sync(twin)
    assert len(find(twin, "apple number3")[0]) == 1
    found = find(quantised_workspace, "apple number3", 400)[0]
    own = ChunkVector.objects.in_workspace(quantised_workspace.pk).values_list("chunk_id", flat=True)
    assert found.keys() <= {id_.hex for id_ in own}
    # Ids follow from the text: the twin's space is not that of the codes.
    scope = resolve_scope(twin, SearchFilters(), Reader())
    foreign = QueryPoint(live_space(quantised_workspace), configured_embedder().embed_query("apple"))
    assert len(find_nearest(scope, foreign).ids) == 0


def test_restored_rows_with_future_transaction_ids_are_read_once(quantised_workspace, codes):
    with owner_connection() as owner:
        owner.execute(
            "UPDATE search_chunkvector SET written = (written::text::bigint + 1000000000)::text::xid8"
        )
    codes.build(quantised_workspace.pk, live_space(quantised_workspace))
    for number in range(3):
        write(quantised_workspace, f"{number}.md", f"apple pear{number}")
        embed(quantised_workspace)
        assert_both_agree(quantised_workspace)
    (held,) = codes._open_codes.values()
    assert (len(held.base), sum(map(len, held.since))) == (400, 3)


def test_job_succeeds_when_the_database_position_is_unavailable(
    quantised_workspace, codes, monkeypatch, caplog
):
    def refuse_to_say():
        raise OperationalError("wal_level must be set to 'logical'")

    monkeypatch.setattr(quantised_index, "code_cache", lambda: codes)
    monkeypatch.setattr(quantised_index, "current_position", refuse_to_say)
    monkeypatch.setattr(quantised_index, "_NEW_LEAST", 50)
    quantised_index.prepare_codes(write_pears(quantised_workspace, "new.md", 120))
    assert "wal_level" in caplog.text
    assert_both_agree(quantised_workspace)


def test_codes_written_for_a_concurrently_deleted_workspace_are_removed(
    quantised_workspace, codes, monkeypatch, tmp_path
):
    real = quantised_index.write_codes

    def delete_and_write(*given):
        delete_workspace(command_line_access(quantised_workspace))
        real(*given)

    monkeypatch.setattr(quantised_index, "write_codes", delete_and_write)
    codes.build(quantised_workspace.pk, live_space(quantised_workspace))
    assert not codes._open_codes
    assert not list(tmp_path.glob(f"{quantised_workspace.pk}*"))
