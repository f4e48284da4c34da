"""Quantised scans find the same as PostgreSQL's exact ones; their files are built and deleted."""

import errno
import shutil
from dataclasses import replace

import pytest

from search.models import EmbeddingSpace
from search.vectors import nearest, quantised_index
from search.vectors.quantised_index import CodeCache
from search.vectors.spaces import live_space
from tests.integration.search.vectors.comparison import assert_both_agree, assert_equal, compare_all, find
from tests.integration.search.vectors.factories import write_apples

fill = write_apples
REQUEST = CodeCache.request  # which a fixture replaces


@pytest.fixture
def workspace(filled, codes):
    return filled


@pytest.fixture
def folder(workspace, tmp_path):
    """Return the folder of the workspace's quantised vectors."""
    return tmp_path / str(workspace.pk)


@pytest.fixture
def background_builds(codes, monkeypatch):
    """Return the list of spaces whose quantised vectors were to be built in the background."""
    spaces = []
    monkeypatch.setattr(codes, "_build_in_background", lambda workspace_id, space: spaces.append(space))
    return spaces


def test_codes_answer_as_postgres_does_in_one_statement(quantised_workspace):
    assert_both_agree(quantised_workspace)
    hundred = find(quantised_workspace, "apple", 100)[0]
    assert_equal(hundred, compare_all(quantised_workspace, "apple", 100))
    (sent,) = find(quantised_workspace, "apple number3")[1]
    assert "search_chunkvector" not in sent  # visible chunks are read, no vectors


def test_filters_narrow_the_scan_and_few_matches_are_still_found_whole(
    quantised_workspace, codes, background_builds, monkeypatch
):
    monkeypatch.setattr(CodeCache, "request", REQUEST)
    assert_both_agree(quantised_workspace, path_glob=("common.md",))
    assert_both_agree(quantised_workspace, source=("docs",))
    assert_both_agree(quantised_workspace, source=("rare",), by_codes=False)
    assert find(quantised_workspace, "apple", source=("nowhere",))[0] == {}
    assert len(find(quantised_workspace, "apple", 100, source=("rare",))[0]) == 8
    assert background_builds == []  # a narrow filter does not have codes made anew


@pytest.mark.parametrize("changed", [{"started": "2026-01-01 00:00:00+00"}, {"table": "1"}])
def test_codes_of_another_database_are_rebuilt(quantised_workspace, codes, changed, monkeypatch):
    held = codes._open_codes[live_space(quantised_workspace).space_id]
    held.place, held.seen = replace(held.place, **changed), (-1, -1)
    monkeypatch.setattr(
        codes, "_build_in_background", lambda workspace_id, space: codes.build(workspace_id, space)
    )
    assert_equal(find(quantised_workspace, "apple")[0], compare_all(quantised_workspace, "apple"))
    assert_both_agree(quantised_workspace)


def test_damaged_code_file_is_rebuilt(quantised_workspace, folder, monkeypatch):
    (path,) = folder.iterdir()
    path.write_bytes(b"nothing")
    other = quantised_index.CodeCache(lambda workspace_id: folder)
    monkeypatch.setattr(nearest, "code_cache", lambda: other)
    assert_both_agree(quantised_workspace, by_codes=False)
    other.build(quantised_workspace.pk, live_space(quantised_workspace))
    assert_both_agree(quantised_workspace)


def test_small_space_is_searched_without_codes(workspace, codes, folder, settings):
    settings.KEBAB_CODES_FROM = 401
    space = live_space(workspace)
    codes.build(workspace.pk, space)
    assert not folder.exists()
    codes._build_in_background(workspace.pk, space)
    assert not codes._building  # it is not looked at again at once
    assert_both_agree(workspace, by_codes=False)
    settings.KEBAB_CODES_FROM = 100
    codes.build(workspace.pk, space)
    assert codes._open_codes
    settings.KEBAB_CODES_FROM = 401
    codes.build(workspace.pk, space)
    assert not codes._open_codes
    assert not list(folder.iterdir())


def test_full_disk_falls_back_to_the_exact_scan(workspace, codes, monkeypatch, caplog):
    def full(*given):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(quantised_index, "write_codes", full)
    codes.build(workspace.pk, live_space(workspace))
    assert "No space left on device" in caplog.text
    codes._build_in_background(workspace.pk, live_space(workspace))
    assert not codes._building
    assert_both_agree(workspace, by_codes=False)


def test_search_without_codes_builds_them_in_the_background(workspace, codes, monkeypatch):
    monkeypatch.setattr(CodeCache, "request", REQUEST)
    assert len(find(workspace, "apple")[0]) == 10
    codes._threads.shutdown(wait=True)
    assert_both_agree(workspace)


def test_files_of_spaces_that_no_longer_exist_are_removed(quantised_workspace, codes, folder):
    old = folder / f"{live_space(quantised_workspace).space_id + 1000}.codes"
    old.write_bytes(b"")
    codes.build(quantised_workspace.pk, live_space(quantised_workspace))
    assert not old.exists()


def test_codes_removed_with_the_mirror_are_held_no_more(quantised_workspace, codes, folder):
    shutil.rmtree(folder)
    assert_both_agree(quantised_workspace, by_codes=False)
    assert not codes._open_codes


def test_space_with_an_index_keeps_no_codes(quantised_workspace, codes, folder, monkeypatch):
    monkeypatch.setattr(quantised_index, "code_cache", lambda: codes)
    EmbeddingSpace.objects.in_workspace(quantised_workspace).update(is_indexed=True)
    for _ in range(2):  # with a file and without one
        quantised_index.prepare_codes(EmbeddingSpace.objects.in_workspace(quantised_workspace).get())
        assert not list(folder.glob("*.codes"))
        assert not codes._open_codes


def test_database_positions_are_ordered(quantised_workspace):
    place = quantised_index.current_position()
    assert int(place.table)
    assert place.is_before(quantised_index.current_position())
