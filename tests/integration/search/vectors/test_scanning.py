"""Scanning codes finds what PostgreSQL finds that compares all, whatever was written, deleted or copied."""

import errno
import shutil
import threading
from dataclasses import replace

import pytest
from django.db import OperationalError, connection, transaction
from django.db.models import F

from kebab.people.deletion import delete_workspace
from kebab.people.operator import the_operator
from kebab.people.reader import Reader
from kebab.tenancy.acting import acting_everywhere
from kebab.tenancy.owner import owner_connection
from search.embedding import query_embedder
from search.insertion import insert_rows
from search.models import Chunk, ChunkVector, Document, EmbeddingSpace
from search.retrieval.filters import SearchFilters
from search.retrieval.types import Mode
from search.scope import resolve_scope
from search.vectors import nearest, scanning
from search.vectors.codes_rows import all_rows
from search.vectors.nearest import QueryPoint, nearest_chunks
from search.vectors.spaces import live_space
from tests.support.corpus import make_workspace, write
from tests.support.searching import ask, embed, paths, sync

QUERIES = ["apple number3", "word4", "number17 word3", "apple"]


class Seen(list):
    """The statements that were sent."""

    def __call__(self, execute, sql, params, many, context):
        self.append(sql)
        return execute(sql, params, many, context)


def found(workspace, query, limit=10, **filters):
    """What is found, and by which statements."""
    scope = resolve_scope(workspace, SearchFilters(**filters), Reader())
    point = QueryPoint(scope.space, query_embedder().embed_query(query))
    with connection.execute_wrapper(seen := Seen()):
        return nearest_chunks(scope, point, limit=limit), seen


def compared_all(workspace, query, limit=10, **filters):
    """What PostgreSQL finds that compares all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest, "_by_codes", lambda asked: None)
        return found(workspace, query, limit, **filters)[0]


def agree(workspace, *, by_codes=True, **filters):
    """Assert that both ways find the same, and that codes alone were enough."""
    for query in QUERIES:
        with pytest.MonkeyPatch.context() as patch:
            if by_codes:
                patch.setattr(nearest, "_exactly", refuse)
            got = found(workspace, query, **filters)[0]
        assert got == compared_all(workspace, query, **filters), query
        assert got or not by_codes


def refuse(asked):
    raise AssertionError("all were compared")


@pytest.fixture
def made(workspace, codes):
    codes.make(workspace.pk, live_space(workspace))
    return workspace


def test_they_are_what_answers_and_the_answer_is_the_same(made, codes):
    agree(made)
    assert found(made, "apple", 100)[0] == compared_all(made, "apple", 100)


def test_what_is_written_after_is_found(made, codes):
    write(made, "new.md", *(f"apple pear{n}" for n in range(30)))
    embed(made)
    agree(made)
    assert len(found(made, "pear7")[0]) == 10
    for number in range(20):  # each in a piece of its own, put together now and then
        write(made, f"{number}.md", f"apple number3 again{number}")
        embed(made)
        agree(made)


def test_what_is_deleted_is_not_found_and_those_behind_it_are(made, codes):
    gone = {near.chunk_id for near in found(made, "apple number3", 60)[0]}
    ChunkVector.objects.filter(chunk_id__in=gone).delete()
    for query in QUERIES:
        left = found(made, query, 20)[0]
        assert len(left) == 20
        assert not {near.chunk_id for near in left} & gone
        assert left == compared_all(made, query, 20)


def test_a_vector_that_is_another_now_counts_as_it_is(made, codes):
    before = {near.chunk_id for near in found(made, "apple number3", 5)[0]}
    chunk = ChunkVector.objects.filter(chunk_id__in=before).first()
    other = ChunkVector.objects.exclude(chunk_id__in=before).first()
    with transaction.atomic():
        ChunkVector.objects.filter(chunk_id=chunk.chunk_id).delete()
        insert_rows([ChunkVector(**_said(chunk) | {"embedding": other.embedding})])
        EmbeddingSpace.objects.update(epoch=99)
    agree(made)


def test_filters_narrow_it_and_what_few_pass_is_still_found_whole(made, codes):
    agree(made, path_glob=("common.md",))
    agree(made, source=("docs",))
    agree(made, source=("rare",), by_codes=False)
    assert len(found(made, "apple", 100, source=("rare",))[0]) == 8
    assert found(made, "apple", source=("nowhere",))[0] == []


def test_a_search_in_what_stands_still_asks_for_the_nearest_alone(made):
    found(made, "apple")
    _, seen = found(made, "apple number3")
    assert len(seen) == 1


def test_who_commits_late_is_not_overlooked(made):
    """Whose transaction began first has the smaller number, and may be seen last."""
    write(made, "late.md", "apple latecomer")
    space = embed(made)
    vector = ChunkVector.objects.get(chunk_id=Chunk.objects.get(text="apple latecomer").chunk_id)
    ChunkVector.objects.filter(chunk_id=vector.chunk_id).delete()
    written, go = threading.Event(), threading.Event()

    @acting_everywhere()
    def late():
        try:
            with transaction.atomic():
                insert_rows([ChunkVector(**_said(vector))])
                written.set()
                go.wait(30)
        finally:
            connection.close()

    thread = threading.Thread(target=late)
    thread.start()
    assert written.wait(30)
    other = ChunkVector.objects.first()
    ChunkVector.objects.filter(chunk_id=other.chunk_id).delete()
    insert_rows([ChunkVector(**_said(other))])
    EmbeddingSpace.objects.filter(pk=space.pk).update(epoch=F("epoch") + 1)
    found(made, "latecomer")
    go.set()
    thread.join()
    EmbeddingSpace.objects.filter(pk=space.pk).update(epoch=F("epoch") + 1)
    assert found(made, "latecomer")[0][0].chunk_id == vector.chunk_id.hex
    agree(made)


def _said(vector):
    """What a row says of itself."""
    names = ("workspace_id", "space_id", "chunk_id", "version_id", "embed_hash", "embedding")
    return {name: getattr(vector, name) for name in names}


def test_another_process_maps_the_file_and_catches_up(made, codes, monkeypatch, tmp_path):
    write(made, "new.md", "apple pear")
    embed(made)
    other = scanning.CodesOfSpaces(lambda workspace_id: tmp_path / str(workspace_id))
    monkeypatch.setattr(nearest, "codes_of_spaces", lambda: other)
    agree(made)


@pytest.mark.parametrize("changed", [{"started": "2026-01-01 00:00:00+00"}, {"table": "1"}])
def test_codes_of_another_database_are_not_used_and_made_anew(made, codes, changed, monkeypatch):
    space = live_space(made)
    held = codes._held[space.space_id]
    held.place, held.seen = replace(held.place, **changed), (-1, -1)
    monkeypatch.setattr(codes, "_make_beside", lambda workspace_id, space: codes.make(workspace_id, space))
    assert found(made, "apple")[0] == compared_all(made, "apple")
    agree(made)


def test_a_damaged_file_is_made_anew(made, codes, tmp_path, monkeypatch):
    (path,) = (tmp_path / str(made.pk)).iterdir()
    path.write_bytes(b"nothing")
    other = scanning.CodesOfSpaces(lambda workspace_id: tmp_path / str(workspace_id))
    monkeypatch.setattr(nearest, "codes_of_spaces", lambda: other)
    agree(made, by_codes=False)
    other.make(made.pk, live_space(made))
    agree(made)


def test_what_has_grown_by_a_quarter_gets_another_file(made, codes, monkeypatch, tmp_path):
    monkeypatch.setattr(scanning, "_NEW_LEAST", 50)
    asked = []
    monkeypatch.setattr(codes, "_make_beside", lambda workspace_id, space: asked.append(space))
    write(made, "new.md", *(f"apple pear{n}" for n in range(90)))
    embed(made)
    found(made, "apple")
    assert asked == []
    write(made, "newer.md", *(f"apple plum{n}" for n in range(90)))
    embed(made)
    found(made, "apple")
    assert len(asked) == 1
    codes.make(made.pk, asked[0])
    assert len(codes._held[asked[0].space_id].base) == 580
    agree(made)


def test_too_much_at_once_is_read_beside_the_searches(made, codes, monkeypatch):
    monkeypatch.setattr(scanning, "_MOST_AT_ONCE", 10)
    asked = []
    monkeypatch.setattr(codes, "_make_beside", lambda workspace_id, space: asked.append(space))
    write(made, "new.md", *(f"apple pear{n}" for n in range(30)))
    embed(made)
    agree(made, by_codes=False)
    assert asked


def test_a_small_space_has_none_and_is_not_looked_at_again_at_once(workspace, codes, settings, tmp_path):
    settings.KEBAB_CODES_FROM = 401
    space = live_space(workspace)
    codes.make(workspace.pk, space)
    assert not (tmp_path / str(workspace.pk)).exists()
    codes._make_beside(workspace.pk, space)
    assert not codes._making
    agree(workspace, by_codes=False)


def test_a_narrow_filter_does_not_have_them_made_anew(made, codes, monkeypatch):
    asked = []
    monkeypatch.setattr(codes, "_make_beside", lambda workspace_id, space: asked.append(space))
    monkeypatch.setattr(nearest, "_SLOW_S", 0.0)
    assert len(found(made, "apple", 100, source=("rare",))[0]) == 8
    assert asked == []


def test_on_a_full_disk_all_are_compared_and_it_is_tried_again_later(workspace, codes, monkeypatch, caplog):
    def full(*given):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(scanning, "write_codes", full)
    codes.make(workspace.pk, live_space(workspace))
    assert "can't be written" in caplog.text
    codes._make_beside(workspace.pk, live_space(workspace))
    assert not codes._making
    agree(workspace, by_codes=False)


def test_a_slow_search_has_them_made_beside_it(workspace, codes, monkeypatch):
    monkeypatch.setattr(nearest, "_SLOW_S", 0.0)
    found(workspace, "apple")
    codes._threads.shutdown(wait=True)
    monkeypatch.setattr(nearest, "_SLOW_S", 60.0)
    agree(workspace)


def test_files_of_spaces_that_are_no_more_go(made, codes, tmp_path):
    old = tmp_path / str(made.pk) / f"{live_space(made).space_id + 1000}.codes"
    old.write_bytes(b"")
    codes.make(made.pk, live_space(made))
    assert not old.exists()


def test_what_was_removed_with_the_mirror_is_held_no_more(made, codes, tmp_path):
    shutil.rmtree(tmp_path / str(made.pk))
    agree(made, by_codes=False)
    assert not codes._held


def test_what_another_process_has_made_anew_is_taken(made, codes, tmp_path):
    write(made, "new.md", "apple pear")
    embed(made)
    scanning.CodesOfSpaces(lambda workspace_id: tmp_path / str(workspace_id)).make(made.pk, live_space(made))
    agree(made)
    assert [len(held.base) for held in codes._held.values()] == [401]


def test_they_are_prepared_once_and_again_when_much_has_changed(made, codes, monkeypatch):
    monkeypatch.setattr(scanning, "codes_of_spaces", lambda: codes)
    monkeypatch.setattr(scanning, "_NEW_LEAST", 50)
    space = EmbeddingSpace.objects.get(workspace=made.pk)
    read = []
    monkeypatch.setattr(scanning, "all_rows", lambda *given: read.append(given) or all_rows(*given))
    scanning.prepare_codes(space)
    write(made, "new.md", *(f"apple pear{n}" for n in range(30)))
    scanning.prepare_codes(embed(made))
    assert read == []
    write(made, "newer.md", *(f"apple plum{n}" for n in range(90)))
    scanning.prepare_codes(embed(made))
    assert len(read) == 1
    agree(made)


def test_of_a_space_with_an_index_none_are_prepared(workspace, codes, monkeypatch, tmp_path):
    monkeypatch.setattr(scanning, "codes_of_spaces", lambda: codes)
    EmbeddingSpace.objects.update(is_indexed=True)
    scanning.prepare_codes(EmbeddingSpace.objects.get(workspace=workspace.pk))
    assert not (tmp_path / str(workspace.pk)).exists()


def test_of_another_workspace_nothing_is_found(made, codes):
    twin = make_workspace(corpus_id=made.corpus_id)
    write(twin, "a.md", "apple number3")
    embed(twin)
    sync(twin)
    own = {near.chunk_id for near in found(twin, "apple number3")[0]}
    ids = {near.chunk_id for near in found(made, "apple number3", 400)[0]}
    assert len(own) == 1
    assert ids <= {
        id_.hex for id_ in ChunkVector.objects.in_workspace(made.pk).values_list("chunk_id", flat=True)
    }
    # Ids follow from the text: the twin's space is not that of the codes.
    scope = resolve_scope(twin, SearchFilters(), Reader())
    foreign = QueryPoint(live_space(made), query_embedder().embed_query("apple"))
    assert nearest_chunks(scope, foreign, limit=10) == []


def test_a_search_by_the_whole_way_shows_what_they_find(made):
    assert paths(ask(made, "apple number3", Mode.VECTOR))[0] == "rare.md"
    Document.objects.filter(path="rare.md").delete()
    assert "rare.md" not in paths(ask(made, "apple number3", Mode.VECTOR))


def test_the_application_may_ask_where_the_database_stands(made):
    place = scanning.present_place()
    assert int(place.table)
    assert place.is_before(scanning.present_place())


def test_rows_of_a_dump_written_in_what_is_yet_to_come_are_read_once(made, codes):
    with owner_connection() as owner:
        owner.execute(
            "UPDATE search_chunkvector SET written = (written::text::bigint + 1000000000)::text::xid8"
        )
    codes.make(made.pk, live_space(made))
    for number in range(3):
        write(made, f"{number}.md", f"apple pear{number}")
        embed(made)
        agree(made)
    (held,) = codes._held.values()
    assert (len(held.base), sum(map(len, held.since))) == (400, 3)


def test_what_comes_in_little_by_little_takes_one_block(made, codes):
    for number in range(5):
        write(made, f"{number}.md", f"apple pear{number}")
        embed(made)
        agree(made)
    (held,) = codes._held.values()
    assert [len(piece) for piece in held.since] == [5]


def test_a_space_that_has_become_small_is_let_go(made, codes, settings, tmp_path):
    settings.KEBAB_CODES_FROM = 401
    codes.make(made.pk, live_space(made))
    assert not codes._held
    assert not list((tmp_path / str(made.pk)).iterdir())


def test_a_database_that_does_not_say_costs_no_job(made, codes, monkeypatch, caplog):
    def refuse_to_say():
        raise OperationalError("wal_level must be set to 'logical'")

    monkeypatch.setattr(scanning, "codes_of_spaces", lambda: codes)
    monkeypatch.setattr(scanning, "present_place", refuse_to_say)
    monkeypatch.setattr(scanning, "_NEW_LEAST", 50)
    write(made, "new.md", *(f"apple pear{n}" for n in range(120)))
    scanning.prepare_codes(embed(made))
    assert "could not be made" in caplog.text
    agree(made)


def test_files_of_spaces_that_have_an_index_go(made, codes, monkeypatch, tmp_path):
    monkeypatch.setattr(scanning, "codes_of_spaces", lambda: codes)
    EmbeddingSpace.objects.update(is_indexed=True)
    scanning.prepare_codes(EmbeddingSpace.objects.get(workspace=made.pk))
    assert not list((tmp_path / str(made.pk)).glob("*.codes"))
    assert not codes._held


def test_what_is_written_for_a_workspace_that_was_deleted_meanwhile_goes(made, codes, monkeypatch, tmp_path):
    real = scanning.write_codes

    def written_late(*given):
        delete_workspace(the_operator(made))
        real(*given)

    monkeypatch.setattr(scanning, "write_codes", written_late)
    codes.make(made.pk, live_space(made))
    assert not codes._held
    assert not list(tmp_path.glob(f"{made.pk}*"))
