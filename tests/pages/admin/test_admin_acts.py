"""What operators do in the admin: by the domain's functions, after a question, written down."""

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.utils import timezone

from ingest.models import Job, JobKind, JobState, Unreadable
from kebab.people.models import ApiToken, AuditEvent, Invitation, Membership, User, Workspace
from search import node
from search.models import EmbeddingSpace, Source
from tests.pages.search.shelf import shelve


def act(office, row, name):
    meta = row._meta
    return office.post(f"/admin/{meta.app_label}/{meta.model_name}/{row.pk}/act/{name}/", {"sure": "yes"})


def told(response):
    return [str(message) for message in get_messages(response.wsgi_request)]


def noted(action):
    event = AuditEvent.objects.get(action=action)
    assert (event.actor, event.detail["via"]) == ("root@example.org", "admin")
    return event


def test_nothing_is_done_before_the_question_is_answered(office, filled):
    page = office.get(f"/admin/ingest/job/{filled.job.pk}/act/cancel/")

    assert "End this work?" in page.content.decode()
    assert not Job.objects.get(pk=filled.job.pk).cancel_requested


def test_a_job_is_cancelled(office, filled):
    answer = act(office, filled.job, "cancel")

    assert answer["Location"] == f"/admin/ingest/job/{filled.job.pk}/change/"
    assert told(answer) == [f"Job {filled.job.pk} ends within seconds."]
    assert Job.objects.get(pk=filled.job.pk).cancel_requested
    assert noted("job.cancelled").subject == str(filled.job.pk)


def test_a_job_that_has_ended_can_not_be_cancelled_and_says_so(office, filled):
    answer = act(office, filled.failed, "cancel")

    assert "already ended as failed" in told(answer)[0]
    assert not AuditEvent.objects.filter(action="job.cancelled").exists()


def test_a_failed_job_is_retried_as_a_new_one(office, filled):
    act(office, filled.failed, "retry")
    again = Job.objects.get(requested_by="root@example.org")

    assert (again.kind, again.state) == (JobKind.SYNC_SOURCE, JobState.QUEUED)
    assert noted("job.retried").detail == {"job": str(again.pk), "via": "admin"}


def test_a_retry_of_a_workspace_with_as_many_jobs_as_may_wait_is_refused_and_says_so(office, filled):
    Workspace.objects.filter(pk=filled.workspace.pk).update(quota={"jobs": 1})
    (answer,) = told(act(office, filled.failed, "retry"))

    assert answer.endswith(
        "1 jobs of this workspace wait or run, and no more may; come again when some are done."
    )
    assert not Job.objects.filter(requested_by="root@example.org").exists()


def test_ticked_jobs_are_asked_about_and_then_cancelled_together(office, filled):
    other = Job.objects.create(workspace=filled.workspace, kind="embed")
    ticked = {
        "action": "cancel",
        "_selected_action": [str(filled.job.pk), str(other.pk), str(filled.failed.pk)],
    }
    question = office.post("/admin/ingest/job/", ticked).content.decode()
    assert not Job.objects.get(pk=other.pk).cancel_requested
    assert str(other.pk) in question

    answer = office.post("/admin/ingest/job/", {**ticked, "sure": "yes"})
    assert Job.objects.get(pk=other.pk).state == JobState.CANCELLED
    assert len(told(answer)) == 3
    assert AuditEvent.objects.filter(action="job.cancelled").count() == 2


def test_a_source_is_synced_unless_it_holds_uploads(office, filled):
    Job.objects.update(state=JobState.FAILED, finished_at=timezone.now())
    act(office, filled.source, "sync")
    uploads = Source.objects.get(key="handbook")

    assert Job.objects.get(state=JobState.QUEUED).source == filled.source
    assert noted("source.sync_asked").subject == "docs"
    assert "there is nothing to sync" in told(act(office, uploads, "sync"))[-1]


def test_a_source_is_deleted_in_a_job(office, filled):
    act(office, filled.source, "delete")

    assert Job.objects.filter(source=filled.source, kind=JobKind.DELETE_SOURCE).exists()
    assert noted("source.deleted").subject == "docs"


def test_a_version_is_deleted_in_a_job_but_not_the_default_one(office, filled):
    act(office, filled.version, "delete")
    assert Job.objects.get(kind=JobKind.DELETE_VERSION).payload == {"version": filled.version.tag}

    answer = act(office, filled.document.version, "delete")
    assert told(answer)[-1] == "default: There is nothing here that you may see."


def test_a_quarantined_file_is_read_again(office, filled):
    act(office, filled.quarantined, "retry")

    assert Job.objects.filter(payload__only_paths=[filled.quarantined.path]).exists()
    assert noted("quarantine.retried").workspace == filled.workspace


def test_a_quarantined_upload_is_forgotten_but_not_the_file_of_a_source(office, filled):
    assert "delete it there" in told(act(office, filled.quarantined, "forget"))[0]
    upload = Unreadable.objects.get(pk=filled.quarantined.pk)
    upload.pk, upload.version = None, filled.document.version
    upload.save()
    pages = [
        office.get(f"/admin/ingest/unreadable/{entry.pk}/change/").content.decode()
        for entry in (filled.quarantined, upload)
    ]
    assert ["/act/forget/" in page for page in pages] == [False, True]
    answer = act(office, upload, "forget")

    assert answer["Location"] == "/admin/ingest/unreadable/"
    assert not Unreadable.objects.filter(version=filled.document.version).exists()
    assert noted("quarantine.deleted").detail["source"] == "handbook"


def test_the_mirror_of_a_workspace_is_made_anew(office, workspace, transactional_db, monkeypatch):
    shelve(workspace, "a.md", "A passage.")
    node.wait_for_seq(workspace.pk, 1, limit_s=10)
    before = node.mirror_files(workspace.pk).current()
    monkeypatch.setattr(node, "trigger_rebuild", node._rebuild_and_log)  # in this thread
    answer = act(office, workspace, "rebuild-mirror")

    assert told(answer)[0].startswith("The mirror of handbook on this node is made anew")
    assert node.mirror_files(workspace.pk).current() != before
    assert noted("mirror.rebuild_asked").subject == "handbook"


def test_a_workspace_is_embedded_anew_or_says_why_not(office, workspace):
    act(office, workspace, "reembed")
    assert Job.objects.get(kind=JobKind.EMBED).requested_by == "root@example.org"
    assert noted("embedding.building").workspace == workspace

    Workspace.objects.update(settings={"embedder": "none"})
    assert "nothing to build" in told(act(office, workspace, "reembed"))[-1]


def test_a_space_is_only_switched_from_the_state_that_it_is_in(office, filled):
    assert "is live, not building" in told(act(office, filled.space, "switch"))[0]
    assert told(act(office, filled.space, "retire"))
    assert EmbeddingSpace.objects.get(pk=filled.space.pk).state == "live"


def test_a_token_is_revoked(office, filled):
    act(office, filled.token, "revoke")

    assert ApiToken.objects.get(pk=filled.token.pk).revoked_at is not None
    assert noted("token.revoked").subject == f"kbb_{filled.token.prefix}"


def test_an_invitation_is_withdrawn(office, filled):
    act(office, filled.invitation, "withdraw")

    assert Invitation.objects.get(pk=filled.invitation.pk).withdrawn_at is not None
    assert noted("invitation.withdrawn").subject == "eve@example.org"


def test_the_last_owner_stays_a_member(office, filled):
    answer = act(office, filled.membership, "remove")

    assert "This is the only owner" in told(answer)[0]
    assert Membership.objects.filter(pk=filled.membership.pk).exists()


def test_a_person_is_added_by_address_and_that_is_written_down(office):
    form = {"email": "Bea@Example.org", "password1": "correct horse 77", "password2": "correct horse 77"}
    form["usable_password"] = "true"
    office.post("/admin/people/user/add/", form)

    assert User.objects.filter(email="bea@example.org").exists()
    assert noted("user.added").subject == "bea@example.org"


def test_changes_of_a_workspace_follow_its_rules_and_are_written_down(office, workspace):
    answer = office.post(
        f"/admin/people/workspace/{workspace.pk}/change/", {"slug": "guide", "name": "Guide"}
    )
    assert answer.status_code == 302
    assert Workspace.objects.get().slug == "guide"
    event = noted("workspace.changed")
    assert (event.workspace, event.subject) == (workspace, "handbook")
    assert [(each["field"], each["before"], each["after"]) for each in event.detail["values"]] == [
        ("name", workspace.name, "Guide"),
        ("slug", "handbook", "guide"),
    ]

    uuid_like = {"slug": "0" * 32, "name": "x"}
    refused = office.post(f"/admin/people/workspace/{workspace.pk}/change/", uuid_like)
    assert refused.status_code == 200
    assert "reads as a UUID" in refused.content.decode()


@pytest.mark.parametrize("name", ["missing", "delete"])
def test_an_act_that_there_is_not_is_not_found(office, filled, name):
    assert act(office, filled.job, name).status_code == 404


def test_a_forged_request_without_the_token_of_the_form_does_nothing(operator, filled):
    client = Client(enforce_csrf_checks=True)
    client.force_login(operator)

    assert act(client, filled.job, "cancel").status_code == 403
    assert not Job.objects.get(pk=filled.job.pk).cancel_requested


def test_what_somebody_can_see_is_explained(office, filled):
    person = office.get(f"/admin/people/user/{filled.person.pk}/access/?workspace=handbook").content.decode()
    token = office.get(f"/admin/people/apitoken/{filled.token.pk}/access/").content.decode()
    unnamed = office.get(f"/admin/people/user/{filled.person.pk}/access/").content.decode()
    missing = office.get(f"/admin/people/user/{filled.person.pk}/access/?workspace=nowhere").content.decode()

    assert "docs" in person
    assert "What they can do" in person
    assert f"kbb_{filled.token.prefix}" in token
    assert "What they can see" not in unnamed
    assert "Name a workspace that there is." in missing


def test_what_is_asked_of_the_simulator_may_be_wrong(office, filled):
    for wrong, said in (
        ("document=x", "badly formed"),
        ("source=missing", "There is no such source here."),
        (f"document={'0' * 32}", "There is no such document here."),
        (f"source=docs&document={'0' * 32}", "Give document or source, not both."),
        ("workspace=nowhere", "Name a workspace that there is."),
    ):
        for row in (filled.membership, filled.token):
            address = f"/admin/people/{row._meta.model_name}/{row.pk}/access/?{wrong}"
            page = office.get(address).content.decode()
            assert said in page, wrong
            assert "What they can see" not in page, wrong
