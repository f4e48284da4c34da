"""Another chunk size needs a confirmation where there are golden queries, and applies in the background."""

import pytest
from django.db import transaction

from ingest.chunking.types import CHUNKER_VERSION
from ingest.jobs.queue.request import request_embedding, request_gate
from ingest.models import Job, JobKind
from ingest.services.uploads import delete_upload
from kebab.exit_codes import Exit
from kebab.identity.models import AuditEvent, Role, Workspace
from kebab.identity.tokens import mint_token
from kebab.people.operator import command_line_access
from kebab.people.workspaces import change_workspace
from search.corpus import ensure_source
from search.evaluation import gate
from search.models import Document
from tests.cli.commands import error_of, run_json
from tests.integration.ingest.quality_gate.conftest import FILLER, finish_jobs, versions
from tests.support.actors import member_client, token_client
from tests.support.corpus import make_workspace
from tests.support.jobs import fill, upload, work
from tests.support.jobs import sync as sync_source
from tests.support.search import finish_syncs

SMALL = {"chunk_tokens": 128}


def ask_gate(workspace, client, **body):
    response = client.post(f"/api/v1/workspaces/{workspace.slug}/eval/gate", body, format="json")
    assert response.status_code == 202, response.content
    return work(Job.objects.get(pk=response.json()["job"]["id"]))


def changes(workspace):
    return AuditEvent.objects.filter(workspace=workspace, action="workspace.changed")


def test_indexing_settings_require_force_when_golden_queries_exist(judged_shelf, subtests):
    client = member_client(judged_shelf, Role.OWNER)
    address = f"/api/v1/workspaces/{judged_shelf.slug}"
    for settings in (SMALL, {"stemming": False}):
        for send, tail, body in (
            (client.patch, "", {}),
            (client.post, "/eval/gate", {}),
            (client.post, "/eval/gate", {"switch": True}),
            (client.post, "/eval/gate", {"force": True}),
        ):
            with subtests.test(settings=settings, tail=tail, body=body):
                response = send(address + tail, {"settings": settings, **body}, format="json")
                assert (response.status_code, response.json()["code"]) == (409, "quality_gate_untested")
    assert not Job.objects.in_workspace(judged_shelf).filter(kind=JobKind.GATE).exists()
    judged_shelf.refresh_from_db()
    assert judged_shelf.settings == {}

    job = ask_gate(judged_shelf, client, settings=SMALL, switch=True, force=True)
    assert job.state == "succeeded", job.error
    response = client.patch(address, {"settings": {"stemming": False}, "force": True}, format="json")
    assert response.status_code == 200
    untested = {"passes": None, "is_forced": True}
    assert [event.detail["quality_gate"] for event in changes(judged_shelf)] == [untested, untested]
    finish_jobs(judged_shelf)
    assert versions(judged_shelf) == {f"{CHUNKER_VERSION}-128"}


def test_gate_job_of_a_trial_that_an_older_release_requested_fails(judged_shelf):
    token, _ = mint_token(judged_shelf, scopes=("manage",))
    for settings, reason in ((SMALL, "can't be asked"), ({}, "switch and force")):
        for switch in (True, False):
            payload = {"settings": settings, "switch": switch, "force": False, "creator": f"token:{token.pk}"}
            job = work(request_gate(judged_shelf.pk, payload))
            assert job.state == "failed"
            assert reason in job.error
    judged_shelf.refresh_from_db()
    assert judged_shelf.settings == {}
    assert not Job.objects.in_workspace(judged_shelf).filter(kind=JobKind.RECHUNK).exists()


@pytest.mark.slow
def test_chunk_size_is_compared_in_an_imported_copy(judged_shelf, tmp_path):
    run_json("export", str(tmp_path / "shelf.kebab"), "--workspace", judged_shelf.slug)
    run_json("import", str(tmp_path / "shelf.kebab"), "--workspace", "trial")
    trial = Workspace.objects.get(slug="trial")
    at = ("--workspace", "trial")
    run_json("eval", "run", *at, "--modes", "hybrid", "--name", "before")
    run_json("workspace", "set", "trial", "chunk_tokens=128", "--force")
    finish_jobs(trial)
    assert versions(trial) == {f"{CHUNKER_VERSION}-128"}
    run_json("eval", "run", *at, "--modes", "hybrid", "--name", "after")
    compared = run_json("eval", "compare", "before", "after", *at, "--measures", gate.MEASURE)
    assert compared["measures"][gate.MEASURE]["difference"] < 0
    assert versions(judged_shelf) == {CHUNKER_VERSION}


def test_chunks_are_made_without_golden_queries(shelf, monkeypatch):
    monkeypatch.setattr(gate, "open_run", pytest.fail)
    client = member_client(shelf, Role.OWNER)
    response = client.patch(f"/api/v1/workspaces/{shelf.slug}", {"settings": SMALL}, format="json")
    assert response.status_code == 200
    finish_jobs(shelf)
    assert versions(shelf) == {f"{CHUNKER_VERSION}-128"}
    assert ask_gate(shelf, client, settings={"chunk_tokens": 200}).state == "succeeded"


@pytest.mark.slow
def test_command_line_shows_a_verdict_and_refuses_what_it_cannot_test(judged_shelf):
    command = ("eval", "gate", f"--workspace={judged_shelf.slug}")
    assert run_json(*command, "--set=rrf_k=60") == {
        "schema_version": "eval_gate.v1",
        "passes": True,
        "figures": None,
        "per_topic": [],
    }
    change = ("workspace", "set", judged_shelf.slug, "chunk_tokens=128")
    for refused in ((*command, "--set=chunk_tokens=128"), change):
        assert error_of(*refused, code=Exit.ERROR)["code"] == "quality_gate_untested"


@pytest.fixture
def folder_source(transactional_db, mirrors, blobs, embedders, tmp_path):
    fill(tmp_path / "folder", {"a.md": f"# A\n\n{FILLER}\n"})
    workspace = make_workspace()
    yield ensure_source(workspace, "notes", kind="folder", config={"path": str(tmp_path / "folder")})
    finish_syncs()


@pytest.mark.slow
def test_folder_is_cut_again_from_stored_bytes(folder_source):
    assert sync_source(folder_source)["unchanged"] == 0
    assert sync_source(folder_source)["unchanged"] == 1
    change_workspace(command_line_access(folder_source.workspace), settings=SMALL)
    kinds = set(Job.objects.filter(state="queued").values_list("kind", flat=True))
    assert JobKind.RECHUNK in kinds and JobKind.SYNC_SOURCE not in kinds
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


def test_gate_job_changes_nothing_after_its_requester_loses_the_right(judged_shelf):
    client = member_client(judged_shelf, Role.ADMIN)
    address = f"/api/v1/workspaces/{judged_shelf.slug}/eval/gate"
    response = client.post(address, {"settings": {"rrf_k": 10}, "switch": True}, format="json")
    judged_shelf.memberships.update(role=Role.EDITOR)
    job = work(Job.objects.get(pk=response.json()["job"]["id"]))
    assert job.state == "failed" and job.error
    judged_shelf.refresh_from_db()
    assert judged_shelf.settings == {}
    assert request_embedding(judged_shelf.pk)  # the job of another kind is not in its way
