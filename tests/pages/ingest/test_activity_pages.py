"""The list of acts, an act's page, and its actions."""

import re
import uuid
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from ingest.models import Job, JobItem
from ingest.pages.activity.acts import count_attention
from kebab.identity.caller import Caller, caller_access
from kebab.identity.models import AuditEvent, Group, Workspace
from kebab.pages.page import tabs_of
from search.access.restrictions import restrict
from search.corpus import ensure_source
from search.models import Source
from tests.pages.page_text import markup_of

LIST = "/w/handbook/activity"
_EMPTY = {"new": 0, "updated": 0, "unchanged": 0, "deleted": 0, "skipped": {}, "failed": {}, "examples": {}}
_COUNTS = {
    "queued": {},
    "added": {**_EMPTY, "new": 1},
    "refused": {**_EMPTY, "skipped": {"no_parser": 1}},
}
_ROW = re.compile(r'<a id="act-([0-9a-f-]+)"[^>]*>([^<]*)</a>')


def make_job(workspace, **fields):
    source = fields.pop("source", None) or ensure_source(workspace, "uploads", kind="upload")
    fields = {"kind": "ingest_document", "payload": {"path": "a.md", "version": "", "blob": "0"}, **fields}
    if fields.get("state") in ("succeeded", "failed"):
        fields = {"finished_at": timezone.now(), "started_at": timezone.now(), "counts": _EMPTY, **fields}
    return Job.objects.create(workspace=workspace, source=source, **fields)


def make_item(job, path, reason, outcome="skipped", **fields):
    state = "failed" if outcome == "failed" else "done"
    return JobItem.objects.create(
        workspace_id=job.workspace_id, job=job, path=path, action="ingest", state=state, outcome=outcome,
        reason=reason, **fields,
    )  # fmt: skip


def upload_files(workspace, person, states):
    """Return the first job of an upload with one file in each of these states."""
    first = None
    for number, state in enumerate(states):
        job = make_job(
            workspace,
            state="queued" if state == "queued" else "succeeded",
            requested_by=person.email,
            batch=first and first.pk,
            items_total=1,
            items_done=state != "queued",
            payload={"path": f"{number}.md"},
            counts=_COUNTS[state],
            refused_items=state == "refused",
            needs_attention=state == "refused",
        )
        first = first or job
    return first


def page_of(job):
    return f"{LIST}/{job.pk}"


def rows_of(client, **query):
    """Return the ids and titles of the rows of the list."""
    return _ROW.findall(markup_of(client.get(LIST, query)))


@pytest.fixture
def running(workspace):
    return make_job(
        workspace,
        kind="sync_source",
        source=ensure_source(workspace, "docs", kind="folder", config={"path": "/d"}),
        payload={},
        state="running",
        items_total=40,
        items_done=10,
        discovered_at=timezone.now(),
        current_path="guide/<b>.md",
        started_at=timezone.now() - timedelta(seconds=5),
        lease_until=timezone.now() + timedelta(hours=1),
    )


@pytest.fixture
def failed_sync(workspace):
    """Return a finished sync with a failed file and a quarantined one."""
    source = ensure_source(workspace, "docs", kind="folder", config={"path": "/d"})
    counts = {**_EMPTY, "failed": {"damaged": 1, "quarantined": 1}, "skipped": {"lock_file": 4}}
    job = make_job(
        workspace, source=source, kind="sync_source", payload={}, state="succeeded", counts=counts,
        needs_attention=True, refused_items=2,
    )  # fmt: skip
    make_item(job, "a/<i>broken.pdf", "damaged", "failed")
    return job


def test_upload_of_many_files_is_one_row_with_its_numbers(visit, viewer, editor, workspace, running):
    editor.display_name = "Ada"
    editor.save()
    upload = upload_files(workspace, editor, ["queued", *["added"] * 4, "refused"])
    embedding = {"kind": "embed", "source": None, "payload": {}, "state": "queued"}
    Job.objects.create(workspace=workspace, batch=upload.pk, **embedding)
    rows = rows_of(visit(viewer))

    assert [key for key, _ in rows] == [str(upload.pk), str(running.pk)]
    assert {"Ada", "6", "uploads"} <= set(rows[0][1].split())
    page = markup_of(visit(viewer).get(LIST))
    assert 'max="6" value="5"' in page
    for figure in ("4 new", "1 not added"):
        assert figure in page


def test_list_is_narrowed_to_running_acts_and_to_those_that_need_attention(
    visit, viewer, editor, workspace, running, failed_sync
):
    client = visit(viewer)
    upload = upload_files(workspace, editor, ["added", "queued", "refused"])
    done = upload_files(workspace, editor, ["added"])

    assert {key for key, _ in rows_of(client, show="running")} == {str(running.pk), str(upload.pk)}
    assert {key for key, _ in rows_of(client, show="attention")} == {str(failed_sync.pk), str(upload.pk)}
    assert {key for key, _ in rows_of(client, source="docs")} == {str(running.pk), str(failed_sync.pk)}
    assert str(done.pk) in dict(rows_of(client, show="nonsense"))


def test_embedding_without_a_cause_is_listed_only_when_it_failed(visit, viewer, workspace):
    embedding = Job.objects.create(workspace=workspace, kind="embed", state="queued")
    assert rows_of(visit(viewer)) == []
    Job.objects.update(state="failed", finished_at=timezone.now(), needs_attention=True)
    assert [key for key, _ in rows_of(visit(viewer))] == [str(embedding.pk)]


def test_list_of_many_acts_takes_as_many_queries_as_one_of_few(visit, viewer, editor, workspace):
    client = visit(viewer)

    def queries():
        with CaptureQueriesContext(connection) as captured:
            client.get(LIST)
        return len(captured)

    upload_files(workspace, editor, ["added", "refused"])
    few = queries()
    for _ in range(8):
        upload_files(workspace, editor, ["added", "refused"])
    assert queries() == few


def test_list_refreshes_itself_only_while_an_act_is_open(visit, viewer, running):
    client = visit(viewer)
    assert 'hx-trigger="every' in markup_of(client.get(LIST))
    part = markup_of(client.get(LIST, headers={"HX-Request": "true"}))
    assert part.startswith('<div id="activity"')
    assert "<html" not in part
    Job.objects.update(state="succeeded", finished_at=timezone.now())

    assert "hx-trigger" not in markup_of(client.get(LIST))


def test_running_act_shows_its_progress_and_is_cancelled(visit, viewer, editor, running):
    page = markup_of(visit(viewer).get(page_of(running)))
    for shown in ('max="40" value="10"', "guide/&lt;b&gt;.md", 'hx-trigger="every'):
        assert shown in page
    assert "/cancel" not in page

    assert "/cancel" in markup_of(visit(editor).get(page_of(running)))
    visit(editor).post(f"{page_of(running)}/cancel")
    running.refresh_from_db()
    assert running.cancel_requested


def test_all_files_of_an_upload_are_cancelled_at_once(visit, editor, workspace):
    upload = upload_files(workspace, editor, ["added", "queued", "queued"])
    visit(editor).post(f"{page_of(upload)}/cancel")

    assert sorted(Job.objects.values_list("state", flat=True)) == ["cancelled", "cancelled", "succeeded"]
    assert AuditEvent.objects.get(action="job.cancelled").subject == str(upload.pk)
    assert visit(editor).post(f"{page_of(upload)}/cancel").status_code == 409


def test_embedding_does_not_decide_how_a_sync_ended(visit, viewer, workspace):
    for state, shown in (("cancelled", "Cancelled"), ("failed", "Failed")):
        sync = make_job(workspace, kind="sync_source", state=state, finished_at=timezone.now())
        make_job(workspace, kind="embed", state="succeeded", batch=sync.pk)

        assert f">{shown}</span>" in markup_of(visit(viewer).get(page_of(sync)))


def test_act_shows_how_long_its_embedding_may_still_take(visit, viewer, workspace):
    sync = make_job(workspace, kind="sync_source", state="succeeded")
    began = timezone.now() - timedelta(seconds=50)
    make_job(
        workspace,
        kind="embed",
        state="running",
        batch=sync.pk,
        started_at=began,
        items_total=100,
        items_done=10,
    )
    page = markup_of(visit(viewer).get(page_of(sync)))
    assert "10 of 100 passages" in page
    assert re.search("Time left</dt><dd>[78] min", page)


def test_refused_file_of_an_upload_is_named_with_its_reason(visit, viewer, editor, workspace):
    upload = upload_files(workspace, editor, ["added", "refused"])
    refused = Job.objects.get(batch=upload.pk)
    make_item(refused, "plan.doc", "old_format", detail="it is a Word file of before 2007")
    client = visit(viewer)

    assert 'data-act-state="partial"' in markup_of(client.get(LIST))
    page = markup_of(client.get(page_of(upload)))
    for shown in ("plan.doc", "Save it as .docx", "before 2007", "/w/handbook/quarantine?source=uploads"):
        assert shown in page
    assert client.get(page_of(refused))["Location"] == page_of(upload)


def test_finished_sync_counts_each_reason(visit, viewer, failed_sync):
    page = markup_of(visit(viewer).get(page_of(failed_sync)))

    assert "<strong>4</strong>" in page
    assert "a/&lt;i&gt;broken.pdf" in page
    assert "damaged" in page
    assert "hx-trigger" not in page
    for act in ("retry", "cancel", "dismiss"):
        assert f"/{act}" not in page


def test_retry_is_offered_only_where_something_can_be_retried(visit, admin, editor, running, failed_sync):
    client = visit(editor)
    assert "/retry" not in markup_of(client.get(page_of(running)))
    assert "/retry" in markup_of(client.get(page_of(failed_sync)))
    JobItem.objects.all().delete()
    page = markup_of(client.get(page_of(failed_sync)))
    assert "/retry" not in page
    assert 'href="/w/handbook/quarantine?source=docs"' in page
    assert client.post(f"{page_of(failed_sync)}/retry").status_code == 409

    Job.objects.filter(pk=failed_sync.pk).update(state="failed")
    assert "/retry" in markup_of(client.get(page_of(failed_sync)))
    failed_sync.source.delete()
    assert "/retry" not in markup_of(visit(admin).get(page_of(failed_sync)))


def test_failed_items_are_retried_in_a_new_job_unless_too_many_wait(
    visit, editor, running, failed_sync, settings, tmp_path
):
    settings.KEBAB_FOLDER_ROOTS = [tmp_path]
    Source.objects.filter(pk=failed_sync.source_id).update(config={"path": str(tmp_path)})
    Workspace.objects.update(quota={"jobs": 1})
    page = visit(editor).post(f"{page_of(failed_sync)}/retry")
    assert (page.status_code, page["Retry-After"]) == (429, "30")
    assert not Job.objects.filter(state="queued").exists()
    Workspace.objects.update(quota={})
    answer = visit(editor).post(f"{page_of(failed_sync)}/retry")
    again = Job.objects.exclude(pk__in=[running.pk, failed_sync.pk]).get()

    assert answer["Location"] == page_of(again)
    assert again.requested_by == editor.email
    assert not Job.objects.filter(needs_attention=True).exists()


def test_act_tells_what_was_not_read_and_what_was_left_out(visit, editor, workspace):
    omissions = {
        "read_in_part": {"documents": 1_200, "amount": 9_000, "unit": "words"},
        "site_parts": {"documents": 3, "amount": 9, "unit": "characters"},
    }
    examples = {"read_in_part": ["a.html"]}
    counts = {**_EMPTY, "omissions": omissions, "examples": examples}
    job = make_job(workspace, state="succeeded", kind="sync_source", payload={}, counts=counts)
    page = markup_of(visit(editor).get(page_of(job)))
    unread, left_out = page.index('id="unread"'), page.index('id="omitted"')
    assert (
        unread < page.index("<strong>1,200</strong> Read in part") < page.index("<li>a.html</li>") < left_out
    )
    assert left_out < page.index("<strong>3</strong> Navigation")
    assert page.count("Left out of documents") == 1


def test_dismissed_act_needs_no_attention(visit, editor, workspace):
    upload = upload_files(workspace, editor, ["added", "refused", "refused"])
    access = caller_access(Caller(user=editor), "handbook")
    assert count_attention(access) == 1
    visit(editor).post(f"{page_of(upload)}/dismiss")

    assert count_attention(access) == 0
    assert AuditEvent.objects.get(action="job.dismissed").subject == str(upload.pk)


def test_readers_are_told_neither_to_manage_nor_of_what_needs_attention(editor, viewer, workspace):
    upload_files(workspace, editor, ["added", "refused"])
    for person, label, attention in ((editor, "Manage", 1), (viewer, "", 0)):
        *_, managing = tabs_of(caller_access(Caller(user=person), "handbook"), "")
        assert (managing["label"], managing["tabs"][1]["badge"]) == (label, attention)


def test_act_of_a_hidden_source_is_answered_like_a_missing_one(visit, editor, workspace):
    closed = ensure_source(workspace, "salaries", kind="upload")
    restrict(closed, [Group.objects.create(workspace=workspace, name="Board").pk])
    job = make_job(workspace, source=closed, payload={"path": "salaries.md"}, needs_attention=True)
    client = visit(editor)
    for act in ("", "/cancel", "/retry", "/dismiss"):
        ask = client.post if act else client.get
        hidden, missing = ask(page_of(job) + act), ask(f"{LIST}/{uuid.uuid4()}{act}")
        assert (hidden.status_code, hidden.content) == (404, missing.content), act
    assert "salaries" not in markup_of(client.get(LIST))
    assert count_attention(caller_access(Caller(user=editor), "handbook")) == 0


def test_earlier_addresses_lead_to_the_new_ones(visit, viewer, running):
    assert visit(viewer).get("/w/handbook/jobs")["Location"] == LIST
    assert visit(viewer).get(f"/w/handbook/jobs/{running.pk}")["Location"] == page_of(running)
