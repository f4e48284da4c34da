"""The index changes from stems to whole words if golden queries do not get worse."""

import threading

import pytest

from ingest.models import Job
from kebab.people.models import AuditEvent, Role
from kebab.people.operator import command_line_access
from kebab.people.workspaces import change_workspace
from search.evaluation import gate
from search.evaluation.judged import JudgedTopic, Qrel
from search.evaluation.topic_sets import store_topics
from search.mirror import local_mirrors
from search.mirror.connections import open_writer
from search.mirror.sync.checksum import check_integrity, mirror_checksum, postgres_checksum
from search.mirror.sync.follow import MirrorFollower
from search.models import Run
from tests.integration.search.mirror.inspection import catch_up_completely
from tests.support.actors import member_client
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


def judge(workspace, query, path):
    store_topics(
        command_line_access(workspace), [JudgedTopic(topic_id=query, text=query, qrels=(Qrel(path=path),))]
    )


def switch(workspace, client, **body):
    address = f"/api/v1/workspaces/{workspace.slug}/eval/gate"
    response = client.post(address, {"switch": True, **body}, format="json")
    job = work(Job.objects.get(pk=response.json()["job"]["id"]))
    workspace.refresh_from_db()
    return job


def found_paths(workspace, query):
    return paths(ask(workspace, query, typos=False))


def test_words_without_stems_are_refused_where_golden_queries_need_them_or_forced(shelf):
    judge(shelf, "runs", "1.md")
    client = member_client(shelf, Role.OWNER)
    job = switch(shelf, client, settings=WHOLE)
    assert job.state == "failed"
    assert "1.0000" in job.error and "0.0000" in job.error
    sync(shelf)
    assert shelf.settings == {}
    assert found_paths(shelf, "runs") == ["1.md"]

    job = switch(shelf, client, settings=WHOLE, force=True)
    assert job.state == "succeeded", job.error
    audited = AuditEvent.objects.get(workspace=shelf, action="workspace.changed").detail["quality_gate"]
    assert (audited["before"], audited["after"], audited["is_forced"]) == (1.0, 0.0, True)


def test_words_without_stems_pass_where_golden_queries_are_better_and_stems_come_back(shelf):
    for query, path, other in (("hopes", "2.md", "3.md"), ("winds", "4.md", "5.md")):
        judge(shelf, query, path)
        assert found_paths(shelf, query) == [other, path]  # by the stem, which is the same
    job = switch(shelf, member_client(shelf, Role.OWNER), settings=WHOLE)
    assert job.state == "succeeded", job.error
    audited = AuditEvent.objects.get(workspace=shelf, action="workspace.changed").detail["quality_gate"]
    assert (audited["passes"], audited["topics"], audited["is_forced"]) == (True, 2, False)
    assert audited["before"] < audited["after"] == 1.0

    sync(shelf)
    assert [found_paths(shelf, query) for query in ("hopes", "winds", "runs")] == [
        ["2.md"],
        ["4.md"],
        [],
    ]
    assert "kebab_words" in ask(shelf, "winds").index_version
    change_workspace(command_line_access(shelf), settings={"stemming": None}, force=True)
    sync(shelf)
    assert found_paths(shelf, "runs") == ["1.md"]


def test_mirror_is_rebuilt_once_and_sound_without_golden_queries(shelf, mirrors, monkeypatch):
    monkeypatch.setattr(gate, "open_run", pytest.fail)
    before = local_mirrors.mirror_files(shelf.pk).current()
    follower = MirrorFollower(mirrors, threading.Event())
    assert follower.catch_up()
    assert local_mirrors.mirror_files(shelf.pk).current() == before
    change_workspace(command_line_access(shelf), settings=WHOLE)
    assert not Run.objects.in_workspace(shelf).exists()
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
