"""Versions of a git source follow their tags and branches."""

import pytest

from ingest.jobs.kinds import sync_source
from ingest.jobs.queue.report import ingest_report
from ingest.jobs.queue.request import request_sync
from ingest.models import Job
from search.corpus import ensure_source
from search.models import SourceVersion
from tests.integration.ingest.connectors.git.documents import texts
from tests.support.jobs import Killed, counts, expire, sync, work


@pytest.fixture
def source(git_source):
    return git_source


def test_sync_requests_versions_whose_tag_or_branch_has_moved(workspace, repository, source):
    repository.git("checkout", "--quiet", "-b", "next")
    repository.git("checkout", "--quiet", "main")
    for name in ("still", "moved"):
        repository.git("tag", "--annotate", "--message=x", name)
    repository.git("tag", "gone")
    for tag in ("still", "moved", "gone", "next"):
        sync(source, version=tag)
    sync(source)
    assert open_syncs() == {}
    repository.git("tag", "--delete", "gone")
    repository.git("checkout", "--quiet", "next")
    repository.commit({"docs/a.md": "next alpha\n"})
    repository.git("tag", "--force", "--annotate", "--message=y", "moved")
    repository.git("checkout", "--quiet", "main")
    asked = work(request_sync(source, requested_by="schedule", embed=False))

    assert (asked.state, open_syncs().keys()) == ("succeeded", {"moved", "next"})
    for job in open_syncs().values():
        assert (job.requested_by, job.payload["embed"]) == ("schedule", False)
    sync(source)
    assert len(open_syncs()) == 2
    for job in open_syncs().values():
        assert counts(ingest_report(work(job)))["updated"] == 1
    assert texts(workspace, "next")["docs/a.md"] == texts(workspace, "moved")["docs/a.md"] == "next alpha"
    assert texts(workspace, "gone")["docs/a.md"] == "alpha"
    sync(source)
    assert open_syncs() == {}


def test_versions_are_requested_though_the_worker_dies_after_listing(repository, source, monkeypatch):
    def die_behind_it(*args):
        discover(*args)
        raise Killed

    repository.git("tag", "v1")
    sync(source, version="v1")
    sync(source)
    repository.commit({"docs/a.md": "two\n"})
    repository.git("tag", "--force", "v1")
    discover = sync_source._discover
    monkeypatch.setattr(sync_source, "_discover", die_behind_it)
    job = request_sync(source)
    with pytest.raises(Killed):
        work(job)
    monkeypatch.undo()
    expire(job)

    assert work(job).state == "succeeded"
    assert open_syncs().keys() == {"v1"}


def open_syncs():
    """Return the queued jobs by the tag of their version."""
    return {
        job.payload.get("version", ""): job for job in Job.objects.filter(kind="sync_source", state="queued")
    }


def test_partial_sync_requests_no_other_versions(repository, source):
    repository.git("tag", "v1")
    sync(source, version="v1")
    sync(source)
    began_with = repository.head()
    repository.commit({"docs/a.md": "two\n"})
    repository.git("tag", "--force", "v1")
    sync(source, only_paths=["docs/b.md"])
    assert SourceVersion.objects.get(source=source, tag="").commit == began_with
    repository.git("tag", "v2")
    sync(source, version="v2")
    assert open_syncs() == {}


def test_matching_tags_become_versions_as_they_appear(workspace, repository, monkeypatch):
    monkeypatch.setattr("ingest.jobs.kinds.sync_source.MOST_NEW_VERSIONS", 2)
    config = {"url": repository.url, "tags": ["v*", "docs/*"]}
    source = ensure_source(workspace, "tagged", kind="git", config=config)
    for tag in ("v9", "v10", "v10-rc", "w1", "docs/1"):
        repository.git("tag", tag)
    sync(source)
    assert open_syncs().keys() == {"v10-rc", "v10"}
    sync(source)
    assert open_syncs().keys() == {"v10-rc", "v10", "v9", "docs/1"}
    for job in open_syncs().values():
        assert counts(ingest_report(work(job))) == {"seen": 3, "new": 3}
    repository.commit({"docs/a.md": "eleven\n"})
    repository.git("tag", "v11")
    assert counts(sync(source))["updated"] == 1
    assert open_syncs().keys() == {"v11"}
    assert work(open_syncs()["v11"]).state == "succeeded"
    sync(source)
    assert open_syncs() == {}
    assert texts(workspace, "v10")["docs/a.md"] == "alpha"
    assert texts(workspace, "v11")["docs/a.md"] == "eleven"
