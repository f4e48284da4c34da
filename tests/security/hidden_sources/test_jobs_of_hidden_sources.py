"""Jobs, counts and kept answers: what is told of work on what one may not read."""

import pytest
from django.utils import timezone

from ingest.models import Job, Unreadable
from kebab.people.models import GroupMember, TokenGroup, User
from search.corpus.blobs import store_blob
from search.models import Source
from tests.security.hidden_sources.calling import CANARY, assert_silent, ended, send
from tests.support.actors import Role
from tests.support.api import embed, quarantine, run
from tests.support.corpus import write

# A worker's heartbeat sees what is committed.
_BY_A_WORKER = pytest.mark.django_db(transaction=True)


def jobs(client, workspace):
    return [row["id"] for row in send(client, workspace, "/jobs").json()["results"]]


def actor_of(client, workspace):
    """Return the name under which a caller asks for jobs."""
    send(client, workspace, "/documents", "post", {"path": "b.md", "text": "b", "source": "open"})
    job = Job.objects.latest("created_at")
    job.delete()
    return job.requested_by


@pytest.mark.parametrize("kind", ["delete_source", "delete_version", "ingest_document"])
def test_a_job_whose_source_is_gone_is_its_requesters(outside_editor, person, workspace, restricted, kind):
    requested_by = actor_of(outside_editor, workspace)
    own = Job.objects.create(workspace=workspace, kind=kind, requested_by=requested_by, **ended("succeeded"))
    other = Job.objects.create(
        workspace=workspace, kind=kind, requested_by="x@example.org", **ended("failed")
    )

    assert jobs(outside_editor, workspace) == [str(own.pk)]
    assert set(jobs(person(Role.ADMIN), workspace)) == {str(own.pk), str(other.pk), str(restricted.job.pk)}


def test_a_job_of_who_had_the_address_before_is_not_its_new_owners(person, workspace, restricted):
    editor = person(Role.EDITOR)
    requested_by = actor_of(editor, workspace)
    job = Job.objects.create(
        workspace=workspace, kind="delete_source", requested_by=requested_by, **ended("succeeded")
    )
    assert jobs(editor, workspace) == [str(job.pk)]
    User.objects.filter(email=requested_by).update(date_joined=timezone.now())

    assert jobs(editor, workspace) == []
    assert send(editor, workspace, f"/jobs/{job.pk}").status_code == 404


@pytest.mark.parametrize("kind", ["sync_source", "ingest_archive"])
def test_paths_that_its_requester_need_not_know_of_go_with_the_source(
    outside_editor, person, workspace, restricted, kind
):
    requested_by = actor_of(outside_editor, workspace)
    job = Job.objects.create(
        workspace=workspace, kind=kind, requested_by=requested_by, current_path=f"{CANARY}.md"
    )

    assert_silent(send(outside_editor, workspace, "/jobs"))
    assert send(outside_editor, workspace, f"/jobs/{job.pk}").status_code == 404
    assert send(person(Role.OWNER), workspace, f"/jobs/{job.pk}").status_code == 200


@_BY_A_WORKER
def test_who_deletes_a_restricted_source_sees_the_end_of_it(person, workspace, restricted):
    insider = person(Role.EDITOR, inside=True)
    answer = send(insider, workspace, f"/sources/{restricted.source.pk}", "delete")
    assert run(workspace, answer).state == "succeeded"
    told = send(insider, workspace, f"/jobs/{answer.json()['job']['id']}").json()

    assert (told["state"], told["source"]) == ("succeeded", None)
    assert not Source.objects.filter(pk=restricted.source.pk).exists()
    assert_silent(send(person(Role.EDITOR), workspace, "/jobs"))


def test_jobs_of_the_whole_workspace_are_not_told_to_those_from_whom_a_source_is_hidden(
    outsider, insider, workspace, restricted
):
    job = Job.objects.create(workspace=workspace, kind="embed", items_total=7)

    assert str(job.pk) in jobs(insider, workspace)
    assert send(outsider, workspace, f"/jobs/{job.pk}").status_code == 404
    assert jobs(outsider, workspace) == []
    Source.objects.update(is_restricted=False)
    assert str(job.pk) in jobs(outsider, workspace)


@pytest.fixture
def embedding(workspace, restricted):
    """The job that embeds a chunk more of the restricted source."""
    embed(workspace)
    write(workspace, f"{CANARY}-new.md", "not embedded", source=restricted.source.key)
    return Job.objects.create(workspace=workspace, kind="embed", error=f"{CANARY} waits")


def embedding_told_to(client, workspace):
    status = send(client, workspace, "/embedding").json()
    live = status["live"]
    return status["chunks"], live["vectors"], live["coverage"], status["job"], status["error"]


def test_the_embedding_counts_what_an_outsider_may_read(outsider, workspace, embedding):
    assert embedding_told_to(outsider, workspace) == (1, 1, 1.0, None, None)


def test_the_embedding_counts_all_for_who_may_read_all(insider, workspace, embedding):
    coverage = pytest.approx(2 / 3, abs=1e-5)
    told = embedding_told_to(insider, workspace)

    assert told == (3, 2, coverage, str(embedding.pk), f"{CANARY} waits")


def test_a_switch_that_is_refused_counts_nothing_hidden(tool, workspace, restricted):
    from search.models import EmbeddingSpace

    EmbeddingSpace.objects.create(workspace=workspace, model="m", revision="1", dim=2, state="building")
    refused = send(tool(), workspace, "/embedding/switch", "post")

    assert refused.status_code == 409
    assert "2" not in refused.json()["detail"].replace("m@1", "")


@_BY_A_WORKER
def test_what_a_hidden_source_has_in_quarantine_is_still_tried_elsewhere(person, workspace, restricted):
    content = "# Bomb\n"
    quarantine(workspace, restricted.source.versions.get(), f"{CANARY}.bomb.md", content.encode())
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


def narrow_the_group(restricted):
    GroupMember.objects.all().delete()
    TokenGroup.objects.all().delete()


def narrow_the_source(restricted):
    restricted.source.readers.all().delete()


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
def test_a_kept_answer_is_not_given_to_whose_rights_were_narrowed(
    person, tool, workspace, restricted, caller, narrow, tail, body
):
    client = tool(inside=True) if caller == "token" else person(Role.EDITOR, inside=True)
    kept = {"path": "a.md", "blob": store_blob(workspace.pk, b"a"), "version": ""}
    Job.objects.filter(pk=restricted.job.pk).update(payload=kept)
    if "entry" in tail:
        upload = {"path": restricted.entry.path, "text": "x", "source": restricted.source.key}
        send(client, workspace, "/documents", "post", upload)

    def post():
        headers = {"Idempotency-Key": "once"}
        return send(client, workspace, tail.format(**restricted.ids), "post", body, headers=headers)

    first, again = post(), post()
    assert first.status_code in {201, 202}, first.content
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.json() == first.json()
    n_jobs = Job.objects.count()
    narrow(restricted)
    refused = post()

    assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
    assert "Idempotency-Replayed" not in refused.headers
    assert_silent(refused)
    assert Job.objects.count() == n_jobs


def test_a_kept_answer_about_a_source_is_bound_to_reading_it(person, workspace):
    editor = person(Role.EDITOR)
    body = {"key": "mine", "kind": "upload"}
    options = {"headers": {"Idempotency-Key": "once"}}
    first = send(editor, workspace, "/sources", "post", body, **options)
    Source.objects.update(is_restricted=True)
    again = send(editor, workspace, "/sources", "post", body, **options)

    assert (first.status_code, again.status_code) == (201, 404)


def test_admins_are_given_a_kept_answer_whatever_became_of_its_source(person, workspace):
    admin = person(Role.ADMIN)
    options = {"headers": {"Idempotency-Key": "once"}}
    body = {"key": "mine", "kind": "upload"}
    first = send(admin, workspace, "/sources", "post", body, **options)
    Source.objects.update(is_restricted=True)

    assert send(admin, workspace, "/sources", "post", body, **options).json() == first.json()


@_BY_A_WORKER
def test_a_report_of_an_open_source_names_nothing_of_a_hidden_one(outsider, person, workspace, restricted):
    body = {"path": f"{CANARY}.md"[::-1], "text": f"{CANARY} text"[::-1], "source": "open"}
    answer = send(person(Role.EDITOR), workspace, "/documents", "post", body)
    run(workspace, answer)

    for tail in ("", "/items"):
        assert_silent(send(outsider, workspace, f"/jobs/{answer.json()['job']['id']}{tail}"))


@_BY_A_WORKER
def test_an_insider_waits_until_their_upload_is_searchable(person, workspace, restricted, monkeypatch):
    from ingest.jobs.queue.run import run_job
    from ingest.services import job_wait

    wait = job_wait._wait_for_end

    def worked_off(job, deadline):
        run_job(job.workspace_id, job.pk)
        return wait(job, deadline)

    monkeypatch.setattr(job_wait, "_wait_for_end", worked_off)
    body = {"path": "in.md", "text": "# In\n\ninside\n", "source": restricted.source.key}
    answer = send(person(Role.EDITOR, inside=True), workspace, "/documents?wait_for=searchable", "post", body)

    assert answer.status_code == 201
    assert answer.json()["seq"] is not None
