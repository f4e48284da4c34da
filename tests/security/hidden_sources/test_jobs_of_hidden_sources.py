"""Jobs, counts and stored answers about hidden sources."""

import pytest
from django.utils import timezone

from ingest.models import Job, Unreadable
from kebab.identity.models import GroupMember, TokenGroup, User
from search.corpus.blobs import store_blob
from search.models import Source
from tests.security.hidden_sources.requests import CANARY, assert_silent, finished_fields, send
from tests.support.actors import Role
from tests.support.api import embed, quarantine, run
from tests.support.corpus import write

# A worker's heartbeat sees committed rows only.
_BY_A_WORKER = pytest.mark.django_db(transaction=True)


def jobs(client, workspace):
    return [row["id"] for row in send(client, workspace, "/jobs").json()["results"]]


def actor_of(client, workspace):
    """Return the name that a caller's jobs have as requester."""
    send(client, workspace, "/documents", "post", {"path": "b.md", "text": "b", "source": "open"})
    job = Job.objects.latest("created_at")
    job.delete()
    return job.requested_by


@pytest.mark.parametrize("kind", ["delete_source", "delete_version", "ingest_document"])
def test_job_of_a_deleted_source_is_visible_to_its_requester_alone(
    outside_editor, person, workspace, restricted_source, kind
):
    requested_by = actor_of(outside_editor, workspace)
    own = Job.objects.create(
        workspace=workspace, kind=kind, requested_by=requested_by, **finished_fields("succeeded")
    )
    other = Job.objects.create(
        workspace=workspace, kind=kind, requested_by="x@example.org", **finished_fields("failed")
    )

    assert jobs(outside_editor, workspace) == [str(own.pk)]
    assert set(jobs(person(Role.ADMIN), workspace)) == {
        str(own.pk),
        str(other.pk),
        str(restricted_source.job.pk),
    }


def test_job_of_the_previous_owner_of_an_address_is_hidden_from_the_new_one(
    person, workspace, restricted_source
):
    editor = person(Role.EDITOR)
    requested_by = actor_of(editor, workspace)
    job = Job.objects.create(
        workspace=workspace, kind="delete_source", requested_by=requested_by, **finished_fields("succeeded")
    )
    assert jobs(editor, workspace) == [str(job.pk)]
    User.objects.filter(email=requested_by).update(date_joined=timezone.now())

    assert jobs(editor, workspace) == []
    assert send(editor, workspace, f"/jobs/{job.pk}").status_code == 404


@pytest.mark.parametrize("kind", ["sync_source", "ingest_archive"])
def test_sync_job_of_a_deleted_source_is_hidden_from_its_requester(
    outside_editor, person, workspace, restricted_source, kind
):
    requested_by = actor_of(outside_editor, workspace)
    job = Job.objects.create(
        workspace=workspace, kind=kind, requested_by=requested_by, current_path=f"{CANARY}.md"
    )

    assert_silent(send(outside_editor, workspace, "/jobs"))
    assert send(outside_editor, workspace, f"/jobs/{job.pk}").status_code == 404
    assert send(person(Role.OWNER), workspace, f"/jobs/{job.pk}").status_code == 200


@_BY_A_WORKER
def test_deletion_of_a_restricted_source_stays_visible_to_its_requester(person, workspace, restricted_source):
    insider = person(Role.EDITOR, inside=True)
    answer = send(insider, workspace, f"/sources/{restricted_source.source.pk}", "delete")
    assert run(workspace, answer).state == "succeeded"
    status = send(insider, workspace, f"/jobs/{answer.json()['job']['id']}").json()

    assert (status["state"], status["source"]) == ("succeeded", None)
    assert not Source.objects.filter(pk=restricted_source.source.pk).exists()
    assert_silent(send(person(Role.EDITOR), workspace, "/jobs"))


def test_workspace_jobs_are_hidden_from_callers_with_a_hidden_source(
    outsider, insider, workspace, restricted_source
):
    job = Job.objects.create(workspace=workspace, kind="embed", items_total=7)

    assert str(job.pk) in jobs(insider, workspace)
    assert send(outsider, workspace, f"/jobs/{job.pk}").status_code == 404
    assert jobs(outsider, workspace) == []
    Source.objects.update(is_restricted=False)
    assert str(job.pk) in jobs(outsider, workspace)


@pytest.fixture
def embed_job(workspace, restricted_source):
    """Create a job that embeds a further chunk of the restricted source."""
    embed(workspace)
    write(workspace, f"{CANARY}-new.md", "not embedded", source=restricted_source.source.key)
    return Job.objects.create(workspace=workspace, kind="embed", error=f"{CANARY} waits")


def embedding_status_of(client, workspace):
    status = send(client, workspace, "/embedding").json()
    live = status["live"]
    return status["chunks"], live["vectors"], live["coverage"], status["job"], status["error"]


def test_embedding_status_counts_what_an_outsider_may_read(outsider, workspace, embed_job):
    assert embedding_status_of(outsider, workspace) == (1, 1, 1.0, None, None)


def test_embedding_status_counts_everything_for_an_insider(insider, workspace, embed_job):
    coverage = pytest.approx(2 / 3, abs=1e-5)
    status = embedding_status_of(insider, workspace)

    assert status == (3, 2, coverage, str(embed_job.pk), f"{CANARY} waits")


def test_rejected_switch_counts_nothing_hidden(tool, workspace, restricted_source):
    from search.models import EmbeddingSpace

    EmbeddingSpace.objects.create(workspace=workspace, model="m", revision="1", dim=2, state="building")
    refused = send(tool(), workspace, "/embedding/switch", "post")

    assert refused.status_code == 409
    assert "2" not in refused.json()["detail"].replace("m@1", "")


@_BY_A_WORKER
def test_quarantine_of_a_hidden_source_does_not_affect_other_sources(person, workspace, restricted_source):
    content = "# Bomb\n"
    quarantine(workspace, restricted_source.source.versions.get(), f"{CANARY}.bomb.md", content.encode())
    body = {"path": "bomb.md", "text": content, "source": "open"}
    answer = send(person(Role.EDITOR), workspace, "/documents", "post", body)
    report = send(person(Role.EDITOR), workspace, f"/jobs/{run(workspace, answer).pk}").json()["report"]

    assert (report["new"], report["failed_by_reason"]) == (1, {})
    Unreadable.objects.all().delete()
    Source.objects.update(is_restricted=False)
    other = Source.objects.get(key="open")
    quarantine(workspace, other.versions.get(), "bomb.md", b"# Other\n")
    answer = send(
        person(Role.EDITOR), workspace, "/documents", "post", {**body, "path": "c.md", "text": "# Other\n"}
    )
    report = send(person(Role.EDITOR), workspace, f"/jobs/{run(workspace, answer).pk}").json()["report"]
    assert report["failed_by_reason"] == {"quarantined": 1}


def narrow_the_group(restricted_source):
    GroupMember.objects.all().delete()
    TokenGroup.objects.all().delete()


def narrow_the_source(restricted_source):
    restricted_source.source.readers.all().delete()


@pytest.mark.parametrize(("caller", "narrow"), [("editor", narrow_the_group), ("token", narrow_the_source)])
@pytest.mark.parametrize(
    ("tail", "body"),
    [
        ("/documents", {"path": "a.md", "text": "a", "source": f"{CANARY}-key"}),
        ("/sources/{source}/versions", {"tag": "v1"}),
        ("/jobs/{job}/retry", None),
        ("/quarantine/{entry}/retry", None),
    ],
)
def test_stored_answer_is_not_returned_after_loss_of_rights(
    person, tool, workspace, restricted_source, caller, narrow, tail, body
):
    client = tool(inside=True) if caller == "token" else person(Role.EDITOR, inside=True)
    payload = {"path": "a.md", "blob": store_blob(workspace.pk, b"a"), "version": ""}
    Job.objects.filter(pk=restricted_source.job.pk).update(payload=payload)
    if "entry" in tail:
        upload = {"path": restricted_source.entry.path, "text": "x", "source": restricted_source.source.key}
        send(client, workspace, "/documents", "post", upload)

    def post():
        headers = {"Idempotency-Key": "once"}
        return send(client, workspace, tail.format(**restricted_source.ids), "post", body, headers=headers)

    first, again = post(), post()
    assert first.status_code in {201, 202}, first.content
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.json() == first.json()
    n_jobs = Job.objects.count()
    narrow(restricted_source)
    refused = post()

    assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
    assert "Idempotency-Replayed" not in refused.headers
    assert_silent(refused)
    assert Job.objects.count() == n_jobs


def test_stored_answer_about_a_source_requires_the_right_to_read_it(person, workspace):
    editor = person(Role.EDITOR)
    body = {"key": "mine", "kind": "upload"}
    options = {"headers": {"Idempotency-Key": "once"}}
    first = send(editor, workspace, "/sources", "post", body, **options)
    Source.objects.update(is_restricted=True)
    again = send(editor, workspace, "/sources", "post", body, **options)

    assert (first.status_code, again.status_code) == (201, 404)


def test_admin_gets_a_stored_answer_after_the_source_was_restricted(person, workspace):
    admin = person(Role.ADMIN)
    options = {"headers": {"Idempotency-Key": "once"}}
    body = {"key": "mine", "kind": "upload"}
    first = send(admin, workspace, "/sources", "post", body, **options)
    Source.objects.update(is_restricted=True)

    assert send(admin, workspace, "/sources", "post", body, **options).json() == first.json()


@_BY_A_WORKER
def test_report_of_an_open_source_reveals_nothing_of_a_hidden_one(
    outsider, person, workspace, restricted_source
):
    body = {"path": f"{CANARY}.md"[::-1], "text": f"{CANARY} text"[::-1], "source": "open"}
    answer = send(person(Role.EDITOR), workspace, "/documents", "post", body)
    run(workspace, answer)

    for tail in ("", "/items"):
        assert_silent(send(outsider, workspace, f"/jobs/{answer.json()['job']['id']}{tail}"))


@_BY_A_WORKER
def test_insider_may_wait_until_their_upload_is_searchable(person, workspace, restricted_source, monkeypatch):
    from ingest.jobs.queue.run import run_job
    from ingest.services import jobs as job_wait

    wait = job_wait._wait_for_end

    def run_and_wait(job, deadline):
        run_job(job.workspace_id, job.pk)
        return wait(job, deadline)

    monkeypatch.setattr(job_wait, "_wait_for_end", run_and_wait)
    body = {"path": "in.md", "text": "# In\n\ninside\n", "source": restricted_source.source.key}
    answer = send(person(Role.EDITOR, inside=True), workspace, "/documents?wait_for=searchable", "post", body)

    assert answer.status_code == 201
    assert answer.json()["seq"] is not None
