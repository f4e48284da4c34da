"""Chunks of an older chunker are replaced in the background, behind the quality gate."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db.models.functions import Now

from ingest.checks.chunks import check_chunks
from ingest.chunking.types import CHUNKER_VERSION
from ingest.jobs.items import worker
from ingest.jobs.queue.request import cancel, request_sync
from ingest.jobs.queue.run import run_job
from ingest.models import Job
from ingest.quality_gate.older_chunks import request_replacements
from ingest.quality_gate.reindex_trial import COPY_PREFIX
from kebab.people.models import AuditEvent, Role
from kebab.people.workspaces import store_settings
from search.corpus import ensure_source
from search.evaluation import gate
from search.models import Document
from tests.integration.ingest.quality_gate.conftest import finish_jobs, judge_golden, versions
from tests.support.actors import member_client
from tests.support.jobs import Killed, die, expire, fill, indexed_texts, sync, work


def age(workspace, version="c4"):
    """Make all documents those of an older chunker."""
    Document.objects.in_workspace(workspace).update(chunker_version=version)


def open_kinds(workspace):
    """Return the kinds of the open jobs after one more run of the periodic task, embedding aside."""
    request_replacements()
    jobs = Job.objects.in_workspace(workspace).filter(state__in=("queued", "running")).exclude(kind="embed")
    return list(jobs.values_list("kind", flat=True))


def let_a_day_pass(workspace):
    Job.objects.in_workspace(workspace).update(created_at=Now() - timedelta(days=1, minutes=1))


def events(workspace, name):
    return AuditEvent.objects.filter(workspace=workspace, action=f"chunks.{name}")


@pytest.fixture
def held_shelf(judged_shelf):
    """Return the shelf after its gate has refused new chunks, which divide the judged document."""
    store_settings(judged_shelf, {"chunk_tokens": 128})
    age(judged_shelf, "c4-128")
    assert open_kinds(judged_shelf) == ["gate"]
    job = work(Job.objects.get(kind="gate"))
    assert job.state == "failed"
    assert "1.0000 before" in job.error
    judged_shelf.refresh_from_db()
    return judged_shelf


def test_older_chunks_are_replaced_without_golden_queries(shelf, monkeypatch):
    monkeypatch.setattr(gate, "open_run", pytest.fail)
    assert open_kinds(shelf) == []
    age(shelf)
    assert check_chunks(False).detail.startswith("5 documents")
    assert open_kinds(shelf) == ["rechunk"]
    assert open_kinds(shelf) == ["rechunk"]  # nothing more while it is open
    before = indexed_texts(shelf)
    finish_jobs(shelf)
    assert versions(shelf) == {CHUNKER_VERSION}
    assert indexed_texts(shelf) == before
    assert open_kinds(shelf) == []


def test_later_and_unknown_versions_are_left_alone(shelf):
    for version in (f"c{int(CHUNKER_VERSION[1:]) + 1}", "c1x", "other/1"):
        age(shelf, version)
        assert open_kinds(shelf) == []


def test_new_chunks_that_pass_the_gate_are_requested_by_its_job(judged_shelf):
    age(judged_shelf)
    assert open_kinds(judged_shelf) == ["gate"]
    assert work(Job.objects.get(kind="gate")).state == "succeeded"
    found = events(judged_shelf, "requested").get()
    assert (found.actor, found.detail["chunker"]) == ("quality gate", CHUNKER_VERSION)
    assert (found.detail["quality_gate"]["passes"], found.detail["quality_gate"]["topics"]) == (True, 1)
    finish_jobs(judged_shelf)
    assert versions(judged_shelf) == {CHUNKER_VERSION}

    age(judged_shelf)  # as by a return to the version before, and back
    let_a_day_pass(judged_shelf)
    assert open_kinds(judged_shelf) == ["rechunk"]


def test_refused_chunks_are_held_until_the_golden_queries_change(held_shelf):
    found = events(held_shelf, "held").get().detail
    assert (found["quality_gate"]["passes"], found["quality_gate"]["before"]) == (False, 1.0)
    let_a_day_pass(held_shelf)
    assert open_kinds(held_shelf) == []
    assert versions(held_shelf) == {"c4-128"}

    source = Document.objects.in_workspace(held_shelf).first().source
    judge_golden(held_shelf, {"number": "quokka-0.md"}, source=source.key)
    assert open_kinds(held_shelf) == ["gate"]


def test_gate_that_broke_off_is_tried_again_the_next_day(judged_shelf):
    age(judged_shelf)
    assert open_kinds(judged_shelf) == ["gate"]
    cancel(Job.objects.get(kind="gate"))
    assert open_kinds(judged_shelf) == []
    let_a_day_pass(judged_shelf)
    assert open_kinds(judged_shelf) == ["gate"]


def test_held_chunks_are_replaced_by_force_over_http(held_shelf):
    client = member_client(held_shelf, Role.OWNER)
    body = {"settings": {}, "switch": True, "force": True}
    response = client.post(f"/api/v1/workspaces/{held_shelf.slug}/eval/gate", body, format="json")
    assert work(Job.objects.get(pk=response.json()["job"]["id"])).state == "succeeded"
    assert events(held_shelf, "requested").get().detail["quality_gate"]["is_forced"] is True
    assert open_kinds(held_shelf) == ["rechunk"]


def test_older_chunks_are_replaced_by_force_on_the_command_line(shelf, capsys):
    age(shelf)
    command = ("eval", "gate", f"--workspace={shelf.slug}", "--json")
    call_command(*command)
    assert not Job.objects.filter(kind="rechunk").exists()
    call_command(*command, "--force")
    assert Job.objects.filter(kind="rechunk", state="queued").count() == 1
    with pytest.raises(SystemExit) as refused:
        call_command(*command, "--force", "--set=rrf_k=10")
    assert refused.value.code == 2


def test_documents_that_stay_older_are_not_tried_again(shelf):
    age(shelf)
    assert open_kinds(shelf) == ["rechunk"]
    cancel(Job.objects.get(kind="rechunk"))
    assert open_kinds(shelf) == []
    let_a_day_pass(shelf)
    assert open_kinds(shelf) == ["rechunk"]
    finish_jobs(shelf)

    Document.objects.in_workspace(shelf).update(indexed_at=Now() - timedelta(days=2))
    age(shelf)  # as if the job had failed on them
    let_a_day_pass(shelf)
    assert open_kinds(shelf) == []


def test_folder_is_rechunked_from_stored_bytes_once_its_sync_has_ended(shelf, tmp_path):
    fill(tmp_path / "folder", {"a.md": "# A\n\nalpha\n"})
    folder = ensure_source(shelf, "notes", kind="folder", config={"path": str(tmp_path / "folder")})
    sync(folder)
    age(shelf)
    (tmp_path / "folder" / "a.md").unlink()
    job = request_sync(folder)
    assert open_kinds(shelf) == ["sync_source"]
    cancel(job)
    assert sorted(open_kinds(shelf)) == ["rechunk", "rechunk"]
    finish_jobs(shelf)
    assert versions(shelf) == {CHUNKER_VERSION}
    assert indexed_texts(shelf)["a.md"] == ["alpha"]


def test_killed_job_loses_no_document(shelf, monkeypatch):
    age(shelf)
    assert open_kinds(shelf) == ["rechunk"]
    before = indexed_texts(shelf)
    job = Job.objects.get(kind="rechunk")
    with monkeypatch.context() as patched:
        patched.setattr(worker.failpoints, "reach", die)
        with pytest.raises(Killed):
            run_job(job.workspace_id, job.pk)
    assert indexed_texts(shelf) == before
    assert open_kinds(shelf) == ["rechunk"]
    expire(job)
    assert work(job).state == "succeeded"
    assert indexed_texts(shelf) == before
    assert versions(shelf) == {CHUNKER_VERSION}


def test_copies_of_a_trial_are_left_alone(shelf):
    shelf.slug = f"{COPY_PREFIX}1"
    shelf.save()
    age(shelf)
    assert open_kinds(shelf) == []
