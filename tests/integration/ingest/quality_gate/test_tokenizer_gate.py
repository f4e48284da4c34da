"""The index changes from stems to whole words and back."""

import threading

import pytest

from kebab.people.operator import command_line_access
from kebab.people.workspaces import change_workspace
from search.mirror import local_mirrors
from search.mirror.connections import open_writer
from search.mirror.sync.checksum import check_integrity, mirror_checksum, postgres_checksum
from search.mirror.sync.follow import MirrorFollower
from tests.integration.search.mirror.inspection import catch_up_completely
from tests.support.corpus import make_workspace
from tests.support.jobs import upload, work
from tests.support.search import ask, finish_syncs, paths, sync

WHOLE = {"stemming": False}
TEXTS = {
    "1.md": "He was running through the long wood.",
    "2.md": "All hopes of that long winter were gone, and nobody came by any more.",
    "3.md": "Hope, hope, hope.",
    "4.md": "Many winds blow over the hills in the north, from the first day of the year on.",
    "5.md": "Wind, wind, wind.",
}


@pytest.fixture
def shelf(transactional_db, mirrors, blobs, settings, embedders):
    settings.KEBAB_EMBEDDER = "none"
    workspace = make_workspace()
    for path, text in TEXTS.items():
        assert work(upload(workspace, path, text.encode())).state == "succeeded"
    sync(workspace)
    workspace.refresh_from_db()
    yield workspace
    finish_syncs()


def found_paths(workspace, query):
    return paths(ask(workspace, query, typos=False))


def test_stemming_setting_is_applied_and_reset(shelf):
    for query, path, other in (("hopes", "2.md", "3.md"), ("winds", "4.md", "5.md")):
        assert found_paths(shelf, query) == [other, path]  # by the stem, which is the same
    change_workspace(command_line_access(shelf), settings=WHOLE)
    sync(shelf)
    shelf.refresh_from_db()
    assert [found_paths(shelf, query) for query in ("hopes", "winds", "runs")] == [["2.md"], ["4.md"], []]
    assert "kebab_words" in ask(shelf, "winds").index_version
    change_workspace(command_line_access(shelf), settings={"stemming": None})
    sync(shelf)
    shelf.refresh_from_db()
    assert found_paths(shelf, "runs") == ["1.md"]


def test_changed_tokenizer_rebuilds_the_mirror_once(shelf, mirrors):
    before = local_mirrors.mirror_files(shelf.pk).current()
    follower = MirrorFollower(mirrors, threading.Event())
    assert follower.catch_up()
    assert local_mirrors.mirror_files(shelf.pk).current() == before
    change_workspace(command_line_access(shelf), settings=WHOLE)
    catch_up_completely(follower)
    path = local_mirrors.mirror_files(shelf.pk).current()
    assert path != before
    writer = open_writer(path)
    try:
        check_integrity(writer)
        assert mirror_checksum(writer) == postgres_checksum(shelf.pk)
    finally:
        writer.close()


def test_later_changes_are_indexed_without_stems(shelf):
    change_workspace(command_line_access(shelf), settings=WHOLE)
    sync(shelf)
    assert work(upload(shelf, "6.md", b"Jumping and ``walkings'' again.")).state == "succeeded"
    assert work(upload(shelf, "1.md", b"Nothing moves any more.")).state == "succeeded"
    sync(shelf)
    assert found_paths(shelf, "jumping") == ["6.md"]
    assert found_paths(shelf, "jump") == found_paths(shelf, "running") == []
    assert found_paths(shelf, '"jumping and walkings"') == ["6.md"]
    assert ask(shelf, "jumpng").corrected_query == "jumping"
    writer = open_writer(local_mirrors.mirror_files(shelf.pk).current())
    try:
        check_integrity(writer)
    finally:
        writer.close()
