"""The list of jobs, a job's page, and its cancel and retry actions."""

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from ingest.models import Job, JobItem
from kebab.people.models import Group, Workspace
from search.access.restrictions import restrict
from search.corpus import ensure_source
from search.models import Source
from tests.pages.page_text import markup_of

LIST = "/w/handbook/jobs"


def make_job(workspace, **fields):
    source = fields.pop("source", None) or ensure_source(workspace, "uploads", kind="upload")
    fields = {"kind": "ingest_document", "payload": {"path": "a.md", "version": "", "blob": "0"}, **fields}
    return Job.objects.create(workspace=workspace, source=source, **fields)


@pytest.fixture
def running(workspace):
    return make_job(
        workspace,
        state="running",
        items_total=40,
        items_done=10,
        chunks_done=1_234,
        current_path="guide/<b>.md",
        started_at=timezone.now() - timedelta(seconds=5),
        lease_until=timezone.now() + timedelta(hours=1),
    )


@pytest.fixture
def failed_job(workspace):
    counts = {
        "new": 3,
        "updated": 2,
        "unchanged": 1,
        "deleted": 0,
        "skipped": {"lock_file": 4},
        "failed": {"damaged": 5},
        "examples": {"damaged": ["a/<i>broken.pdf"], "lock_file": ["uv.lock"]},
    }
    ended = {"finished_at": timezone.now(), "started_at": timezone.now(), "counts": counts}
    job = make_job(workspace, state="failed", error="It broke.", items_total=9, items_done=9, **ended)
    JobItem.objects.create(
        workspace=workspace, job=job, path="a.md", action="ingest", state="failed", outcome="failed"
    )
    return job


def page_of(job):
    return f"{LIST}/{job.pk}"


def test_jobs_are_listed_newest_first_and_narrowed_to_a_state(visit, viewer, running, failed_job):
    client = visit(viewer)
    page = markup_of(client.get(LIST))

    assert page.index(page_of(failed_job)) < page.index(page_of(running))
    for shown in ("running", "failed", "It broke.", "10 of 40", "uploads"):
        assert shown in page
    assert page_of(running) not in markup_of(client.get(LIST, {"state": "failed"}))
    assert page_of(running) in markup_of(client.get(LIST, {"state": "nonsense"}))


def test_list_refreshes_itself_only_while_a_job_is_open(visit, viewer, running):
    client = visit(viewer)
    assert 'hx-trigger="every' in markup_of(client.get(LIST))
    part = markup_of(client.get(LIST, headers={"HX-Request": "true"}))
    assert part.startswith('<div id="job-list"')
    assert "<html" not in part
    Job.objects.update(state="succeeded", finished_at=timezone.now())

    assert "hx-trigger" not in markup_of(client.get(LIST))


def test_running_jobs_page_shows_how_far_it_is_and_is_cancelled_there(visit, viewer, editor, running):
    page = markup_of(visit(viewer).get(page_of(running)))
    for shown in ('max="40" value="10"', "1,234", "guide/&lt;b&gt;.md"):
        assert shown in page
    assert f'data-job-events="/api/v1/workspaces/handbook/jobs/{running.pk}/events"' in page
    assert "/cancel" not in page

    assert "/cancel" in markup_of(visit(editor).get(page_of(running)))
    visit(editor).post(f"{page_of(running)}/cancel")
    running.refresh_from_db()
    assert running.cancel_requested


def test_ended_jobs_page_counts_each_reason_and_offers_only_useful_actions(visit, editor, failed_job):
    client = visit(editor)
    page = markup_of(client.get(page_of(failed_job)))

    assert "<strong>5</strong>" in page
    assert "<strong>4</strong>" in page
    assert "a/&lt;i&gt;broken.pdf" in page
    assert "damaged" in page
    assert "data-job-events" not in page
    # Its bytes are gone.
    assert "/retry" not in page
    for act in ("retry", "cancel"):
        assert client.post(f"{page_of(failed_job)}/{act}").status_code == 409


@pytest.fixture
def finished_sync(workspace):
    """Return a finished sync with a failed file and a quarantined one."""
    source = ensure_source(workspace, "docs", kind="folder", config={"path": "/d"})
    counts = {"failed": {"damaged": 1, "quarantined": 1}, "skipped": {}, "examples": {}}
    counts |= {"new": 0, "updated": 0, "unchanged": 0, "deleted": 0}
    job = make_job(
        workspace,
        source=source,
        kind="sync_source",
        payload={},
        state="succeeded",
        finished_at=timezone.now(),
        counts=counts,
    )
    JobItem.objects.create(
        workspace=workspace, job=job, path="a.md", action="ingest", state="failed", outcome="failed"
    )
    return job


def test_upload_that_was_refused_is_no_success(visit, viewer, workspace):
    source = ensure_source(workspace, "uploads", kind="upload")
    job = make_job(
        workspace,
        source=source,
        kind="ingest_document",
        payload={"path": "plan.doc"},
        state="succeeded",
        finished_at=timezone.now(),
        counts={"skipped": {"old_format": 1}, "failed": {}, "new": 0, "updated": 0, "unchanged": 0}
        | {"deleted": 0, "examples": {}},
    )
    JobItem.objects.create(
        workspace=workspace, job=job, path="plan.doc", action="ingest", state="done", outcome="skipped",
        reason="old_format", detail="it is a Word file of before 2007",
    )  # fmt: skip
    client = visit(viewer)
    assert 'class="state bad">refused<' in markup_of(client.get("/w/handbook/jobs"))
    page = markup_of(client.get(page_of(job)))
    for shown in ('data-job="state">refused<', "Save it as .docx", "before 2007", "/w/handbook/quarantine"):
        assert shown in page


def test_trying_again_is_offered_where_something_failed_that_can_be_tried(
    visit, admin, editor, running, finished_sync
):
    client = visit(editor)
    assert "/retry" not in markup_of(client.get(page_of(running)))
    assert "/retry" in markup_of(client.get(page_of(finished_sync)))
    JobItem.objects.all().delete()
    page = markup_of(client.get(page_of(finished_sync)))
    assert "/retry" not in page
    assert 'href="/w/handbook/quarantine?source=docs"' in page
    assert client.post(f"{page_of(finished_sync)}/retry").status_code == 409

    Job.objects.filter(pk=finished_sync.pk).update(state="failed")
    assert "/retry" in markup_of(client.get(page_of(finished_sync)))
    finished_sync.source.delete()
    assert "/retry" not in markup_of(visit(admin).get(page_of(finished_sync)))


def test_failed_items_are_retried_in_a_new_job_unless_too_many_wait(
    visit, editor, running, finished_sync, settings, tmp_path
):
    settings.KEBAB_FOLDER_ROOTS = [tmp_path]
    Source.objects.filter(pk=finished_sync.source_id).update(config={"path": str(tmp_path)})
    Workspace.objects.update(quota={"jobs": 1})
    page = visit(editor).post(f"{page_of(finished_sync)}/retry")
    assert (page.status_code, page["Retry-After"]) == (429, "30")
    assert not Job.objects.filter(state="queued").exists()
    Workspace.objects.update(quota={})
    answer = visit(editor).post(f"{page_of(finished_sync)}/retry")
    again = Job.objects.exclude(pk__in=[running.pk, finished_sync.pk]).get()

    assert answer["Location"] == page_of(again)
    assert again.requested_by == editor.email


def test_job_of_a_hidden_source_is_answered_like_a_missing_one(visit, editor, workspace):
    closed = ensure_source(workspace, "salaries", kind="upload")
    restrict(closed, [Group.objects.create(workspace=workspace, name="Board").pk])
    job = make_job(workspace, source=closed, payload={"path": "salaries.md"})
    client = visit(editor)
    for act in ("", "/cancel", "/retry"):
        ask = client.post if act else client.get
        hidden, missing = ask(page_of(job) + act), ask(f"{LIST}/{uuid.uuid4()}{act}")
        assert (hidden.status_code, hidden.content) == (404, missing.content), act
    assert "salaries" not in markup_of(client.get(LIST))
