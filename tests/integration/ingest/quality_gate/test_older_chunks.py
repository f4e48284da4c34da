"""Chunks of an older chunker are replaced in the background, with golden queries after a confirmation."""

from datetime import timedelta

import pytest
from django.core.management import CommandError
from django.db.models.functions import Now

from ingest.chunking.types import CHUNKER_VERSION
from ingest.jobs.items import worker
from ingest.jobs.queue.request import cancel, request_sync
from ingest.jobs.queue.run import run_job
from ingest.models import Job
from ingest.quality_gate.older_chunks import check_chunks, request_replacements
from kebab.identity.models import AuditEvent, Role
from search.corpus import ensure_source
from search.evaluation import gate
from search.models import Document
from tests.cli.commands import run, run_json
from tests.integration.ingest.quality_gate.conftest import finish_jobs, versions
from tests.support.actors import member_client
from tests.support.jobs import Killed, die, expire, fill, indexed_texts, sync, work


def age(workspace, version="c4"):
    """Mark all documents as made by an older chunker."""
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


def test_replacing_older_chunks_requires_confirmation_when_golden_queries_exist(judged_shelf):
    age(judged_shelf)
    assert open_kinds(judged_shelf) == []
    assert "--force" in check_chunks(False).detail
    client = member_client(judged_shelf, Role.OWNER)
    address, body = f"/api/v1/workspaces/{judged_shelf.slug}/eval/gate", {"settings": {}, "switch": True}
    refused = client.post(address, body, format="json")
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_request")

    response = client.post(address, {**body, "force": True}, format="json")
    assert work(Job.objects.get(pk=response.json()["job"]["id"])).state == "succeeded"
    assert events(judged_shelf, "requested").get().detail["chunker"] == CHUNKER_VERSION
    assert open_kinds(judged_shelf) == ["rechunk"]
    finish_jobs(judged_shelf)
    assert versions(judged_shelf) == {CHUNKER_VERSION}

    age(judged_shelf)  # as by a return to the version before, and back
    let_a_day_pass(judged_shelf)
    assert open_kinds(judged_shelf) == ["rechunk"]


def test_older_chunks_are_replaced_by_force_on_the_command_line(judged_shelf):
    age(judged_shelf)
    command = ("eval", "gate", f"--workspace={judged_shelf.slug}")
    for options in ((), ("--force", "--set=rrf_k=10")):
        with pytest.raises(CommandError):
            run(*command, *options)
    assert not Job.objects.filter(kind="rechunk").exists()
    assert run_json(*command, "--force")["passes"] is True
    assert Job.objects.filter(kind="rechunk", state="queued").count() == 1


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
