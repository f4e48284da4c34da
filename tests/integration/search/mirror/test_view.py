"""A view of a mirror: the chunks behind ids, and those that a query's reader may see."""

from dataclasses import replace

import apsw
import pytest

from search.access.scope import Sources
from search.mirror.files import MirrorAbsent, MirrorDamaged
from search.mirror.postings import check_postings
from search.mirror.query.lexical import LexicalLeg
from search.mirror.query.view import MirrorSource
from search.retrieval.fusion.legs import pack_ids, unpack_ids
from search.retrieval.query.filters import ChunkKind
from tests.integration.search.mirror.factories import (
    StandaloneMirror,
    chunk_id,
    document_state,
    paths_of,
)


@pytest.fixture
def mirror(tmp_path):
    mirror = StandaloneMirror(tmp_path)
    yield mirror
    mirror.pool.close()


def visible_paths(mirror, ids, **filters):
    with mirror.source(**filters).open() as view:
        return paths_of(view, ids[view.check_visible(ids)])


def under(source, **changes):
    """Return the mirror under a changed scope."""
    return MirrorSource(source._files, source._pool, replace(source.scope, **changes), limit_s=60)


def test_chunks_are_found_by_their_ids_in_any_order(mirror):
    mirror.write("a.md", "apple", "pear")
    ids = pack_ids([chunk_id("a.md", 1), "0" * 32, chunk_id("a.md")])
    with mirror.source().open() as view:
        rows = view.rows_of(ids)
        assert unpack_ids(view.collection.chunks.ids[rows[[0, 2]]]) == unpack_ids(ids[[0, 2]])
        assert rows[1] == -1
        last, absent, first = view.documents(rows)
        assert first == last > absent == 0
        assert view.rows_of(ids[:0]).shape == (0,)


def test_visible_chunks_are_those_that_pass_the_filters(mirror):
    mirror.write("a.md", "apple")
    mirror.write("b.py", "apple", kind="code", code_lang="python")
    ids = pack_ids([chunk_id("b.py"), "0" * 32, chunk_id("a.md")])
    assert visible_paths(mirror, ids) == ["b.py", "a.md"]
    assert visible_paths(mirror, ids, kind=(ChunkKind.CODE,)) == ["b.py"]
    assert visible_paths(mirror, ids, path_glob=("*.md",)) == ["a.md"]
    assert visible_paths(mirror, ids, lang=("de",)) == []
    mirror.delete("a.md")
    assert visible_paths(mirror, ids) == ["b.py"]


def test_chunks_of_unreadable_sources_are_not_visible(mirror):
    mirror.write("a.md", "apple")
    ids = pack_ids([chunk_id("a.md")])
    for readable, is_visible in ((Sources(keys=("s",)), True), (Sources(keys=("t",)), False)):
        with under(mirror.source(), sources=readable, readable=readable).open() as view:
            assert view.check_visible(ids).tolist() == [is_visible]
            assert (view.documents(view.rows_of(ids)) > 0).tolist() == [is_visible]


def test_chunk_id_ending_in_zero_bytes_is_found(mirror):
    """Cover that numpy drops trailing zero bytes of a single value."""
    state, id_ = document_state("a.md", ["apple"]), "12" * 8 + "00" * 8
    mirror.write_all([replace(state, chunks=(replace(state.chunks[0], chunk_id=id_),))])
    with mirror.source().open() as view:
        check_postings(view.connection)
        found = LexicalLeg(view, "apple").search(10)
        assert unpack_ids(found.ids) == [id_]
        assert view.check_visible(found.ids).tolist() == [True]
        assert found.score(found.ids).tolist() == found.scores.tolist()


def test_view_without_any_change_shows_nothing(mirror):
    with mirror.source().open() as view:
        assert (view.seq, view.collection.chunks.chunk_count) == (0, 0)
        assert view.check_visible(pack_ids(["1" * 32])).tolist() == [False]


def test_missing_mirror_is_an_error_after_a_change(mirror):
    (mirror.files.directory / "CURRENT").unlink()
    with mirror.source().open() as view:
        assert view.seq == 0
    with pytest.raises(MirrorAbsent), under(mirror.source(), head_seq=1).open():
        pass


def test_time_limit_of_a_view_applies_only_inside_its_block(mirror, monkeypatch):
    monkeypatch.setattr("search.mirror.query.view._STEPS", 1)
    mirror.write("a.md", *["apple"] * 100)
    with mirror.source(limit_s=0.0).open() as view:
        with pytest.raises(apsw.InterruptError), view.limited_time():
            view.connection.execute("SELECT * FROM chunks").fetchall()
        assert len(view.connection.execute("SELECT * FROM chunks").fetchall()) == 100
    with pytest.raises(apsw.InterruptError), mirror.source(limit_s=0.0).open_for_leg() as view:
        view.rows_of(pack_ids([chunk_id("a.md")]))


def test_damage_withdraws_the_mirror_once_it_is_met(mirror):
    mirror.write("a.md", "apple")
    mirror.damage("UPDATE blocks SET ids = x'00'")
    with mirror.source().open() as view:
        assert view.rows_of(pack_ids([chunk_id("a.md")])).tolist() == [1]  # this doesn't read it
    assert (mirror.files.directory / "CURRENT").exists()
    with pytest.raises(MirrorDamaged), mirror.source().open_for_leg() as view:
        view.check_visible(pack_ids([chunk_id("a.md")]))
    assert not (mirror.files.directory / "CURRENT").exists()
