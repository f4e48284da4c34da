"""Jobs that need attention, the mail about failing syncs, and the act that each job belongs to."""

import pytest
from django.core import mail

from ingest.jobs.queue.failure_mail import source_owners
from ingest.jobs.queue.request import request_sync
from ingest.jobs.queue.schedule import retry
from ingest.models import Job
from kebab.identity.models import Group, Membership, Role, User
from kebab.people import audit
from search.access.restrictions import restrict
from search.corpus import ensure_source
from search.models import Source
from tests.support.jobs import upload, work


@pytest.fixture
def folder(tmp_path, settings):
    settings.KEBAB_FOLDER_ROOTS = [tmp_path]
    return tmp_path


@pytest.fixture
def source(workspace, folder):
    return ensure_source(workspace, "docs", kind="folder", config={"path": str(folder)})


def is_marked(job):
    return Job.objects.get(pk=job.pk).needs_attention


def test_refused_upload_needs_attention(workspace):
    added, refused = work(upload(workspace, "a.md", b"# A")), work(upload(workspace, "a.exe", b"\0\1\2"))

    assert (added.needs_attention, added.refused_items) == (False, 0)
    assert (refused.state, refused.needs_attention, refused.refused_items) == ("succeeded", True, 1)


def test_embedding_job_has_the_batch_of_its_upload(workspace):
    job = work(upload(workspace, "a.md", b"# A"))
    assert Job.objects.get(kind="embed").batch == job.pk


def test_newest_failed_sync_alone_needs_attention_until_one_succeeds(source, folder):
    Source.objects.update(config={"path": str(folder / "gone")})
    first, second = work(request_sync(source)), work(request_sync(source))
    assert (first.state, is_marked(first), is_marked(second)) == ("failed", False, True)

    Source.objects.update(config={"path": str(folder)})
    assert not work(request_sync(source)).needs_attention
    assert not is_marked(second)


def test_files_refused_by_an_earlier_sync_need_attention_unless_dismissed(source, folder):
    (folder / "a.exe").write_bytes(b"\0\1\2\3")
    first, second = work(request_sync(source)), work(request_sync(source))
    assert (is_marked(first), is_marked(second)) == (False, True)

    Job.objects.update(needs_attention=False)
    third = work(request_sync(source))
    assert (third.needs_attention, third.refused_items) == (False, 1)


def test_retry_of_an_upload_keeps_its_batch(workspace):
    job = upload(workspace, "a.md", b"# A")
    Job.objects.filter(pk=job.pk).update(state="failed", finished_at=job.created_at, needs_attention=True)
    again = retry(Job.objects.get(pk=job.pk))

    assert again.batch == job.pk
    assert not is_marked(job)


@pytest.fixture
def outbox(workspace, settings, monkeypatch):
    """Return the mails, of a server that counts as one that sends them."""
    monkeypatch.setattr("ingest.jobs.queue.failure_mail.mail_is_delivered", lambda: True)
    settings.KEBAB_URL = "https://kebab.example.org"
    for name, role in (("owner", Role.OWNER), ("ed", Role.EDITOR)):
        user = User.objects.create_user(f"{name}@example.org", "x")
        Membership.objects.create(workspace=workspace, user=user, role=role)
    return mail.outbox


def test_first_of_several_failed_syncs_is_mailed_to_the_creator(
    source, folder, outbox, django_capture_on_commit_callbacks
):
    audit.record_person("ed@example.org", "source.created", source.key, workspace=source.workspace)
    Source.objects.update(config={"path": str(folder / "gone")})
    with django_capture_on_commit_callbacks(execute=True):
        job, _ = work(request_sync(source)), work(request_sync(source))
    assert [each.to for each in outbox] == [["ed@example.org"]]
    assert f"https://kebab.example.org/w/{source.workspace.slug}/activity/{job.pk}" in outbox[0].body
    assert job.error in outbox[0].body


def test_failed_sync_is_mailed_to_owners_when_its_creator_may_not_see_the_source(source, outbox):
    audit.record_person("ed@example.org", "source.created", source.key, workspace=source.workspace)
    assert source_owners(source) == ["ed@example.org"]
    restrict(source, [Group.objects.create(workspace=source.workspace, name="Board").pk])

    assert source_owners(source) == ["owner@example.org"]
