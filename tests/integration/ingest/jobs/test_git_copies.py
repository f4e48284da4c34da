"""The copy of a repository on a node: made anew, cleaned up, gone with its source."""

import pytest

from ingest.jobs.request import request_source_deletion
from ingest.models import Job
from kebab.people.deletion import delete_workspace
from kebab.people.operator import the_operator
from search.corpus import ensure_source
from search.models import Document, Source
from tests.integration.ingest.jobs.git_documents import place_of, texts
from tests.support.jobs import counts, sync, work


@pytest.fixture
def repository(written_repository):
    return written_repository


@pytest.fixture
def source(git_source):
    return git_source


def test_the_copy_goes_with_its_source(workspace, source):
    sync(source)
    assert place_of(source).git_dir.exists()
    assert work(request_source_deletion(source)).state == "succeeded"

    assert not place_of(source).folder.exists()


def test_copies_go_with_their_workspace(workspace, source):
    sync(source)
    delete_workspace(the_operator(workspace))

    assert not place_of(source).folder.parent.exists()


def test_the_copy_of_a_source_that_another_node_deleted_goes_at_the_next_sync(workspace, repository, source):
    gone = ensure_source(workspace, "gone", kind="git", config={"url": repository.url})
    sync(gone)
    Document.objects.filter(source=gone).delete()
    Job.objects.all().delete()
    Source.objects.filter(pk=gone.pk).delete()
    sync(source)

    assert not place_of(gone).folder.exists()
    assert place_of(source).folder.exists()


def test_a_damaged_copy_is_made_anew(workspace, repository, source):
    sync(source)
    for pack in (place_of(source).git_dir / "objects" / "pack").glob("*.pack"):
        pack.chmod(0o600)
        pack.write_bytes(b"nonsense")
    repository.commit({"docs/a.md": "alpha two\n"})

    assert counts(sync(source))["updated"] == 1
    assert texts(workspace)["docs/a.md"] == "alpha two"


def test_a_lock_that_a_killed_git_left_is_no_obstacle(repository, source):
    sync(source)
    (place_of(source).git_dir / "shallow.lock").touch()
    (place_of(source).git_dir / "refs" / "kebab" / "x.lock").touch()
    repository.commit({"docs/a.md": "alpha two\n"})

    assert counts(sync(source))["updated"] == 1


def test_many_fetches_leave_few_packs(repository, source, monkeypatch):
    monkeypatch.setattr("ingest.connectors.git.repository._MOST_PACKS", 2)
    for number in range(4):
        repository.commit({"docs/a.md": f"alpha {number}\n"})
        sync(source)

    assert len(list((place_of(source).git_dir / "objects" / "pack").glob("*.pack"))) <= 2
    assert counts(sync(source)) == {"seen": 3, "unchanged": 3}
