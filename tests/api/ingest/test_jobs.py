"""Jobs over HTTP: read, listed, cancelled and retried."""

from datetime import timedelta

import pytest
from django.utils import timezone

from ingest.models import Job, JobItem, JobState
from ingest.progress import embedding_rows, eta_s, items_per_s
from kebab.identity.models import AuditEvent
from search.corpus import ensure_source
from search.corpus.seq_tokens import read_seq_token
from tests.api.refusals import refusal_of
from tests.support.actors import Role, member_client, token_client
from tests.support.api import address, folder, post_text, run
from tests.support.schemas import validate

pytestmark = pytest.mark.django_db(transaction=True)


def make_job(workspace, **fields):
    return Job.objects.create(**{"workspace": workspace, "kind": "embed", **fields})


def end_fields(state, **fields):
    return {"state": state, "finished_at": timezone.now(), **fields}


@pytest.fixture
def partly_failed_sync(client, workspace, tmp_path, settings):
    """Return a sync in which one of two files failed."""
    root = folder(settings, tmp_path, a_md="# A\n\nfirst\n", b_md="# B\n\nsecond\n")
    body = {"key": "docs", "kind": "folder", "config": {"path": str(root)}}
    source = client.post(address(workspace, "/sources"), body, format="json").json()
    response = client.post(address(workspace, f"/sources/{source['id']}/sync"))
    job = run(workspace, response)
    JobItem.objects.in_workspace(workspace).filter(job=job, path="b.md").update(
        state="failed", outcome="failed", reason="unreadable", detail="Permission denied"
    )
    Job.objects.in_workspace(workspace).filter(pk=job.pk).update(counts={})
    return job


def test_running_job_reports_its_progress(client, workspace):
    progress = {
        "state": "running",
        "items_total": 50,
        "items_done": 20,
        "bytes_done": 2_000,
        "chunks_done": 70,
        "current_path": "a.md",
        "requested_by": "a@example.org",
    }
    job = make_job(workspace, started_at=timezone.now() - timedelta(seconds=10), **progress)
    body = client.get(address(workspace, f"/jobs/{job.pk}")).json()

    assert {name: body[name] for name in progress} == progress
    assert 0 < body["items_per_s"] <= 2
    assert body["eta_s"] >= 15
    assert (body["report"], body["error"], body["seq"], body["finished_at"]) == (None, None, None, None)

    failed = make_job(workspace, **end_fields("failed", error="The folder is gone."))
    assert client.get(address(workspace, f"/jobs/{failed.pk}")).json()["error"] == "The folder is gone."


def test_rate_and_remaining_time_are_computed_from_finished_items():
    now = timezone.now()
    job = Job(state="running", items_total=30, items_done=10, started_at=now - timedelta(seconds=5))

    assert (items_per_s(job, now=now), eta_s(job, now=now)) == (2.0, 10.0)
    job.items_done = 0
    assert (items_per_s(job, now=now), eta_s(job, now=now)) == (None, None)
    assert items_per_s(Job(items_done=5), now=now) is None
    done = Job(items_total=8, items_done=8, started_at=now - timedelta(seconds=4), finished_at=now)
    done.state = JobState.SUCCEEDED
    assert (items_per_s(done), eta_s(done)) == (2.0, None)


def test_running_embedding_is_listed_in_the_status_of_the_stack(workspace):
    began = timezone.now() - timedelta(seconds=10)
    make_job(workspace, state="running", started_at=began, items_total=300, items_done=100)
    (row,) = embedding_rows()
    assert (row["workspace"], row["done"], row["chunks"]) == (workspace.slug, 100, 300)
    assert row["chunks_per_s"] == pytest.approx(10, rel=0.2)
    assert row["eta_s"] == pytest.approx(20, rel=0.2)


def test_upload_has_its_report_before_and_after_its_end(client, workspace):
    response = post_text(client, workspace)
    report = client.get(response.headers["Location"]).json()["report"]
    validate("ingest_report.v1", report)
    assert (report["state"], report["seen"]) == ("queued", 0)

    run(workspace, response)
    body = client.get(response.headers["Location"]).json()
    workspace.refresh_from_db()
    validate("ingest_report.v1", body["report"])
    assert (body["state"], body["seq"], body["report"]["new"]) == ("succeeded", workspace.head_seq, 1)
    assert body["seq_token"] == read_seq_token(workspace.pk, body["seq"])
    assert body["source"] == "uploads"


def test_jobs_are_listed_newest_first_by_page_and_filtered(reader, workspace, subtests):
    source = ensure_source(workspace, "docs", kind="upload")
    made = [
        make_job(workspace, **end_fields("failed")),
        make_job(workspace, kind="sync_source", source=source),
        make_job(workspace, **end_fields("cancelled", kind="sync_source", source=source)),
    ]
    first = reader.get(address(workspace, "/jobs?limit=2")).json()
    second = reader.get(address(workspace, f"/jobs?limit=2&cursor={first['next_cursor']}")).json()
    listed = [row["id"] for row in first["results"] + second["results"]]
    assert listed == [str(job.pk) for job in reversed(made)]

    for query, expected in (
        ("?state=failed", {"failed embed"}),
        ("?state=failed&state=queued", {"failed embed", "queued sync_source"}),
        ("?kind=sync_source", {"queued sync_source", "cancelled sync_source"}),
        ("?kind=sync_source&state=cancelled", {"cancelled sync_source"}),
    ):
        with subtests.test(query=query):
            rows = reader.get(address(workspace, f"/jobs{query}")).json()["results"]
            assert {f"{row['state']} {row['kind']}" for row in rows} == expected
    for query, code, field in (
        ("state=done", "invalid_request", "state[0]"),
        ("kind=dig", "invalid_request", "kind[0]"),
        ("x=1", "unknown_field", "x"),
    ):
        assert refusal_of(reader.get(address(workspace, f"/jobs?{query}"))) == (400, code, field)


def test_items_have_the_outcome_of_each_path(reader, workspace, partly_failed_sync):
    path = address(workspace, f"/jobs/{partly_failed_sync.pk}/items")
    rows = reader.get(path).json()["results"]
    assert [(row["path"], row["outcome"]) for row in rows] == [("a.md", "new"), ("b.md", "failed")]
    assert reader.get(f"{path}?state=failed").json()["results"] == [
        {
            "path": "b.md",
            "action": "ingest",
            "state": "failed",
            "outcome": "failed",
            "reason": "unreadable",
            "detail": "Permission denied",
            "omissions": [],
        }
    ]
    page = reader.get(f"{path}?limit=1").json()
    rest = reader.get(f"{path}?cursor={page['next_cursor']}").json()["results"]
    assert [row["path"] for row in rest] == ["b.md"]
    assert refusal_of(reader.get(f"{path}?state=lost")) == (400, "invalid_request", "state")


def test_queued_job_is_cancelled_at_once(client, workspace):
    response = post_text(client, workspace)
    job_id = response.json()["job"]["id"]
    cancelled = client.post(address(workspace, f"/jobs/{job_id}/cancel"))

    assert (cancelled.status_code, cancelled.json()["job"]["state"]) == (202, "cancelled")
    assert run(workspace, response).state == "cancelled"
    assert AuditEvent.objects.get(action="job.cancelled").subject == job_id


def test_running_job_is_asked_to_stop(client, workspace):
    job = make_job(workspace, state="running")
    body = client.post(address(workspace, f"/jobs/{job.pk}/cancel")).json()
    assert (body["job"]["state"], body["job"]["cancel_requested"]) == ("running", True)


def test_job_in_another_state_is_not_cancelled_or_retried(client, workspace):
    for fields, act in (
        (end_fields("succeeded"), "cancel"),
        (end_fields("succeeded"), "retry"),
        ({}, "retry"),
    ):
        job = make_job(workspace, **fields)
        response = client.post(address(workspace, f"/jobs/{job.pk}/{act}"))
        assert refusal_of(response) == (409, "job_not_open", None)
        job.delete()
    assert not AuditEvent.objects.filter(action="job.cancelled").exists()


def test_retry_runs_what_failed_and_nothing_else(client, workspace, partly_failed_sync):
    path = address(workspace, f"/jobs/{partly_failed_sync.pk}/retry")
    response, again = (client.post(path, headers={"Idempotency-Key": "k"}) for _ in range(2))
    assert response.status_code == 202
    assert response.json()["job"]["id"] == again.json()["job"]["id"] != str(partly_failed_sync.pk)
    assert again.headers["Idempotency-Replayed"] == "true"
    job = run(workspace, response)

    assert job.state == "succeeded"
    assert [item.path for item in JobItem.objects.in_workspace(workspace).filter(job=job)] == ["b.md"]
    assert response.headers["Location"].endswith(str(job.pk))
    event = AuditEvent.objects.get(action="job.retried")
    assert (event.subject, event.detail) == (str(partly_failed_sync.pk), {"job": str(job.pk)})


def test_everybody_reads_jobs_and_editors_control_them(workspace):
    job = make_job(workspace)
    readers = [member_client(workspace), token_client(workspace, "search"), token_client(workspace, "ask")]
    for reader in readers:
        assert reader.get(address(workspace, f"/jobs/{job.pk}")).status_code == 200
        for act in ("cancel", "retry"):
            assert reader.post(address(workspace, f"/jobs/{job.pk}/{act}")).status_code == 403
    editor = member_client(workspace, Role.EDITOR)
    assert editor.post(address(workspace, f"/jobs/{job.pk}/cancel")).status_code == 202


def test_dismissed_job_needs_no_attention(workspace):
    job = make_job(workspace, **end_fields(JobState.FAILED), needs_attention=True)
    editor = member_client(workspace, Role.EDITOR)
    path = address(workspace, f"/jobs/{job.pk}/dismiss")
    assert token_client(workspace, "search").post(path).status_code == 403
    assert editor.post(path).status_code == 204
    job.refresh_from_db()
    assert not job.needs_attention
    assert AuditEvent.objects.get(action="job.dismissed").subject == str(job.pk)
