"""Another chunk size is tried in a copy first, and applied if golden queries do not get worse."""

import json

import pytest
from django.core.management import call_command
from django.db import transaction

from ingest.chunking.types import CHUNKER_VERSION
from ingest.jobs.queue.request import request_embedding
from ingest.models import Job, JobKind
from ingest.quality_gate.gate import judge_settings
from ingest.services.uploads import delete_upload
from kebab.cli.client import job_progress
from kebab.cli.errors import Exit
from kebab.people.models import AuditEvent, Role, Workspace
from kebab.people.operator import command_line_access
from kebab.people.workspaces import change_workspace
from search.corpus import ensure_source
from search.embedders.hash_embedder import HashEmbedder
from search.evaluation import gate
from search.models import Chunk, Document, Run
from search.retrieval.types import Mode
from tests.cli.commands import error_of
from tests.integration.ingest.quality_gate.conftest import FILLER, FIRST, finish_jobs, versions
from tests.support.actors import member_client, token_client
from tests.support.corpus import make_workspace
from tests.support.jobs import embed, fill, upload, work
from tests.support.jobs import sync as sync_source
from tests.support.search import ask, finish_syncs

SMALL = {"chunk_tokens": 128}


def chunks_of(workspace, path):
    return Chunk.objects.in_workspace(workspace).filter(document__path=path).count()


def ask_gate(workspace, client, **body):
    response = client.post(f"/api/v1/workspaces/{workspace.slug}/eval/gate", body, format="json")
    assert response.status_code == 202, response.content
    return work(Job.objects.get(pk=response.json()["job"]["id"]))


def changes(workspace):
    return AuditEvent.objects.filter(workspace=workspace, action="workspace.changed")


def test_smaller_chunks_that_make_golden_queries_worse_are_not_made_unless_by_force(judged_shelf):
    client = member_client(judged_shelf, Role.OWNER)
    job = ask_gate(judged_shelf, client, settings=SMALL, switch=True)
    assert job.state == "failed"
    assert "1.0000" in job.error
    judged_shelf.refresh_from_db()
    assert judged_shelf.settings == {}
    assert versions(judged_shelf) == {CHUNKER_VERSION}
    assert not Job.objects.in_workspace(judged_shelf).filter(kind=JobKind.RECHUNK).exists()
    assert list(Workspace.objects.values_list("slug", flat=True)) == [
        judged_shelf.slug
    ]  # the copies are gone
    assert Run.objects.in_workspace(judged_shelf).count() == 2

    job = ask_gate(judged_shelf, client, settings=SMALL, switch=True, force=True)
    assert job.state == "succeeded", job.error
    found = changes(judged_shelf).get().detail["quality_gate"]
    assert (found["before"], found["passes"], found["is_forced"]) == (1.0, False, True)
    assert found["after"] < 1.0
    finish_jobs(judged_shelf)
    assert versions(judged_shelf) == {f"{CHUNKER_VERSION}-128"}


def test_chunks_that_make_them_better_are_made_in_the_background(judged_shelf):
    change_workspace(command_line_access(judged_shelf), settings={"chunk_tokens": 130}, force=True)
    finish_jobs(judged_shelf)
    assert versions(judged_shelf) == {f"{CHUNKER_VERSION}-130"}
    assert chunks_of(judged_shelf, "animals.md") == 2

    job = ask_gate(
        judged_shelf, member_client(judged_shelf, Role.OWNER), settings={"chunk_tokens": None}, switch=True
    )
    assert job.state == "succeeded", job.error
    found = changes(judged_shelf).latest("at").detail["quality_gate"]
    assert (found["after"], found["better"], found["is_forced"]) == (1.0, 1, False)
    finish_jobs(judged_shelf)
    assert versions(judged_shelf) == {CHUNKER_VERSION}
    assert chunks_of(judged_shelf, "animals.md") == 1
    assert ask(judged_shelf, "quokka numbat", Mode.HYBRID).hits[0].doc_path == "animals.md"


def test_copies_are_searched_by_the_live_model_and_embed_only_new_text(judged_shelf, settings, monkeypatch):
    settings.KEBAB_EMBEDDER = FIRST
    embed(judged_shelf)
    seen, real = [], HashEmbedder.embed_passages
    monkeypatch.setattr(
        HashEmbedder, "embed_passages", lambda self, texts: seen.extend(texts) or real(self, texts)
    )
    judge_settings(judged_shelf, SMALL, advance=lambda: None)
    assert [run.figures["degraded"] for run in Run.objects.in_workspace(judged_shelf)] == [{}, {}]
    assert len(seen) == 2  # both halves of what is cut in two


def test_request_needs_a_job_or_force(judged_shelf):
    client = member_client(judged_shelf, Role.OWNER)
    address = f"/api/v1/workspaces/{judged_shelf.slug}"
    response = client.patch(address, {"settings": SMALL}, format="json")
    assert (response.status_code, response.json()["code"]) == (409, "quality_gate_slow")
    assert "eval/gate" in response.json()["detail"]

    assert client.patch(address, {"settings": SMALL, "force": True}, format="json").status_code == 200
    assert changes(judged_shelf).get().detail["quality_gate"] == {"passes": None, "is_forced": True}


def test_chunks_are_made_without_golden_queries(shelf, monkeypatch):
    monkeypatch.setattr(gate, "open_run", pytest.fail)
    client = member_client(shelf, Role.OWNER)
    response = client.patch(f"/api/v1/workspaces/{shelf.slug}", {"settings": SMALL}, format="json")
    assert response.status_code == 200
    finish_jobs(shelf)
    assert versions(shelf) == {f"{CHUNKER_VERSION}-128"}
    assert ask_gate(shelf, client, settings={"chunk_tokens": 200}).state == "succeeded"


@pytest.mark.slow
def test_command_line_shows_a_verdict_and_waits_for_the_trial(judged_shelf, capsys, monkeypatch):
    command = ("eval", "gate", f"--workspace={judged_shelf.slug}", "--set=chunk_tokens=128", "--json")
    with pytest.raises(SystemExit) as worse:
        call_command(*command)
    assert worse.value.code == 1
    verdict = json.loads(capsys.readouterr().out)
    assert (verdict["passes"], verdict["figures"]["before"]) == (False, 1.0)
    assert [each["topic_id"] for each in verdict["per_topic"]] == ["quokka"]
    judged_shelf.refresh_from_db()
    assert judged_shelf.settings == {}

    call_command("eval", "gate", f"--workspace={judged_shelf.slug}", "--set=rrf_k=60", "--json")
    assert json.loads(capsys.readouterr().out) == {
        "schema_version": "eval_gate.v1",
        "passes": True,
        "figures": None,
        "per_topic": [],
    }
    monkeypatch.setattr(job_progress.time, "sleep", lambda _: finish_jobs(judged_shelf))
    refused = error_of("workspace", "set", judged_shelf.slug, "chunk_tokens=128", code=Exit.ERROR)
    assert refused["code"] == "quality_gate"


@pytest.fixture
def folder_source(transactional_db, mirrors, blobs, embedders, tmp_path):
    fill(tmp_path / "folder", {"a.md": f"# A\n\n{FILLER}\n"})
    workspace = make_workspace()
    yield ensure_source(workspace, "notes", kind="folder", config={"path": str(tmp_path / "folder")})
    finish_syncs()


@pytest.mark.slow
def test_folder_is_cut_again_by_a_sync(folder_source):
    assert sync_source(folder_source)["unchanged"] == 0
    assert sync_source(folder_source)["unchanged"] == 1
    change_workspace(command_line_access(folder_source.workspace), settings=SMALL)
    finish_jobs(folder_source.workspace)
    assert versions(folder_source.workspace) == {f"{CHUNKER_VERSION}-128"}
    assert sync_source(folder_source)["unchanged"] == 1


@pytest.mark.slow
def test_rechunking_keeps_deletions_and_stated_values(shelf):
    assert work(upload(shelf, "told.md", FILLER.encode(), title="Told", tags=["kept"])).state == "succeeded"
    before = Document.objects.in_workspace(shelf).get(path="told.md")
    change_workspace(command_line_access(shelf), settings=SMALL)
    document = Document.objects.in_workspace(shelf).select_related("source", "version").get(path="animals.md")
    with transaction.atomic():
        delete_upload(document)
    finish_jobs(shelf)
    assert versions(shelf) == {f"{CHUNKER_VERSION}-128"}
    assert not Document.objects.in_workspace(shelf).filter(path="animals.md").exists()
    after = Document.objects.in_workspace(shelf).get(path="told.md")
    assert after.chunker_version != before.chunker_version
    named = ("title", "tags", "overrides", "requested_at", "content_hash")
    assert [getattr(after, name) for name in named] == [getattr(before, name) for name in named]


def test_size_of_chunks_is_validated(db, subtests):
    workspace = make_workspace()
    client = member_client(workspace, Role.OWNER)
    for tokens in [127, 255, "200", True, 1.5]:
        with subtests.test(case=tokens):
            body = {"settings": {"chunk_tokens": tokens}}
            response = client.patch(f"/api/v1/workspaces/{workspace.slug}", body, format="json")
            assert response.status_code == 400


def test_gate_needs_the_right_to_change_settings(judged_shelf):
    address, body = f"/api/v1/workspaces/{judged_shelf.slug}/eval/gate", {"settings": SMALL}
    for client in (member_client(judged_shelf, Role.EDITOR), token_client(judged_shelf, "search", "ingest")):
        assert client.post(address, body, format="json").status_code == 403
    assert member_client(make_workspace(), Role.OWNER).post(address, body, format="json").status_code == 404
    assert not Job.objects.in_workspace(judged_shelf).filter(kind=JobKind.GATE).exists()


def test_job_changes_nothing_once_the_right_is_gone(judged_shelf):
    client = member_client(judged_shelf, Role.ADMIN)
    address = f"/api/v1/workspaces/{judged_shelf.slug}/eval/gate"
    response = client.post(address, {"settings": {"rrf_k": 10}, "switch": True}, format="json")
    judged_shelf.memberships.update(role=Role.EDITOR)
    job = work(Job.objects.get(pk=response.json()["job"]["id"]))
    assert job.state == "failed" and job.error
    judged_shelf.refresh_from_db()
    assert judged_shelf.settings == {}
    assert request_embedding(judged_shelf.pk)  # the job of another kind is not in its way
