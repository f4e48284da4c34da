"""Actions of operators in the admin: confirmed, audited, by the domain's functions."""

from django.contrib.messages import get_messages
from django.test import Client
from django.utils import timezone

from ingest.models import Job, JobKind, JobState, Unreadable
from kebab.people.models import ApiToken, AuditEvent, Invitation, Membership, User, Workspace
from search.mirror import local_mirrors
from search.models import EmbeddingSpace, Source
from tests.pages.search.shelf import shelve


def act(office, row, name):
    meta = row._meta
    return office.post(f"/admin/{meta.app_label}/{meta.model_name}/{row.pk}/act/{name}/", {"sure": "yes"})


def messages_of(response):
    return [str(message) for message in get_messages(response.wsgi_request)]


def audit_event(action):
    event = AuditEvent.objects.get(action=action)
    assert (event.actor, event.detail["via"]) == ("root@example.org", "admin")
    return event


def test_job_is_cancelled_after_a_question(office, admin_rows):
    assert office.get(f"/admin/ingest/job/{admin_rows.job.pk}/act/cancel/").status_code == 200
    assert not Job.objects.get(pk=admin_rows.job.pk).cancel_requested
    answer = act(office, admin_rows.job, "cancel")

    assert answer["Location"] == f"/admin/ingest/job/{admin_rows.job.pk}/change/"
    (notice,) = messages_of(answer)
    assert str(admin_rows.job.pk) in notice
    assert Job.objects.get(pk=admin_rows.job.pk).cancel_requested
    assert audit_event("job.cancelled").subject == str(admin_rows.job.pk)
    for name in ("missing", "delete"):
        assert act(office, admin_rows.job, name).status_code == 404


def test_failed_job_is_retried_as_a_new_one_unless_too_many_wait(office, admin_rows):
    Workspace.objects.filter(pk=admin_rows.workspace.pk).update(quota={"jobs": 1})
    assert len(messages_of(act(office, admin_rows.failed, "retry"))) == 1
    assert not Job.objects.filter(requested_by="root@example.org").exists()
    Workspace.objects.filter(pk=admin_rows.workspace.pk).update(quota={})
    act(office, admin_rows.failed, "retry")
    again = Job.objects.get(requested_by="root@example.org")

    assert (again.kind, again.state) == (JobKind.SYNC_SOURCE, JobState.QUEUED)
    assert audit_event("job.retried").detail == {"job": str(again.pk), "via": "admin"}


def test_ticked_jobs_are_asked_about_and_then_cancelled_together(office, admin_rows):
    other = Job.objects.create(workspace=admin_rows.workspace, kind="embed")
    ticked = {
        "action": "cancel",
        "_selected_action": [str(admin_rows.job.pk), str(other.pk), str(admin_rows.failed.pk)],
    }
    question = office.post("/admin/ingest/job/", ticked).content.decode()
    assert not Job.objects.get(pk=other.pk).cancel_requested
    assert str(other.pk) in question

    answer = office.post("/admin/ingest/job/", {**ticked, "sure": "yes"})
    assert Job.objects.get(pk=other.pk).state == JobState.CANCELLED
    assert len(messages_of(answer)) == 3
    assert AuditEvent.objects.filter(action="job.cancelled").count() == 2


def test_source_is_synced_unless_it_holds_uploads_and_deleted_in_a_job(office, admin_rows):
    Job.objects.update(state=JobState.FAILED, finished_at=timezone.now())
    act(office, Source.objects.get(key="handbook"), "sync")
    assert not Job.objects.filter(state=JobState.QUEUED).exists()
    act(office, admin_rows.source, "sync")
    assert Job.objects.get(state=JobState.QUEUED).source == admin_rows.source
    assert audit_event("source.sync_asked").subject == "docs"
    act(office, admin_rows.source, "delete")

    assert Job.objects.filter(source=admin_rows.source, kind=JobKind.DELETE_SOURCE).exists()
    assert audit_event("source.deleted").subject == "docs"


def test_version_is_deleted_in_a_job_but_not_the_default_one(office, admin_rows):
    act(office, admin_rows.version, "delete")
    act(office, admin_rows.document.version, "delete")

    assert Job.objects.get(kind=JobKind.DELETE_VERSION).payload == {"version": admin_rows.version.tag}


def test_quarantined_file_is_read_again_and_only_an_upload_forgotten(office, admin_rows):
    act(office, admin_rows.quarantined, "retry")
    assert Job.objects.filter(payload__only_paths=[admin_rows.quarantined.path]).exists()
    assert audit_event("quarantine.retried").workspace == admin_rows.workspace
    act(office, admin_rows.quarantined, "forget")
    assert Unreadable.objects.filter(pk=admin_rows.quarantined.pk).exists()
    upload = Unreadable.objects.get(pk=admin_rows.quarantined.pk)
    upload.pk, upload.version = None, admin_rows.document.version
    upload.save()
    pages = [
        office.get(f"/admin/ingest/unreadable/{entry.pk}/change/").content.decode()
        for entry in (admin_rows.quarantined, upload)
    ]
    assert ["/act/forget/" in page for page in pages] == [False, True]
    answer = act(office, upload, "forget")

    assert answer["Location"] == "/admin/ingest/unreadable/"
    assert not Unreadable.objects.filter(version=admin_rows.document.version).exists()
    assert audit_event("quarantine.deleted").detail["source"] == "handbook"


def test_mirror_of_a_workspace_is_rebuilt(office, workspace, transactional_db, monkeypatch):
    shelve(workspace, "a.md", "A passage.")
    local_mirrors.wait_for_seq(workspace.pk, 1, limit_s=10)
    before = local_mirrors.mirror_files(workspace.pk).current()
    monkeypatch.setattr(local_mirrors, "trigger_rebuild", local_mirrors._rebuild_and_log)  # in this thread
    answer = act(office, workspace, "rebuild-mirror")

    assert len(messages_of(answer)) == 1
    assert local_mirrors.mirror_files(workspace.pk).current() != before
    assert audit_event("mirror.rebuild_asked").subject == "handbook"


def test_workspace_is_reembedded_unless_it_has_no_embedder(office, workspace):
    Workspace.objects.update(settings={"embedder": "none"})
    act(office, workspace, "reembed")
    assert not Job.objects.exists()
    Workspace.objects.update(settings={})
    act(office, workspace, "reembed")

    assert Job.objects.get(kind=JobKind.EMBED).requested_by == "root@example.org"
    assert audit_event("embedding.building").workspace == workspace


def test_token_invitation_space_and_last_owner_follow_the_rules_of_their_domain(office, admin_rows):
    act(office, admin_rows.token, "revoke")
    act(office, admin_rows.invitation, "withdraw")
    act(office, admin_rows.space, "switch")
    act(office, admin_rows.space, "retire")
    assert len(messages_of(act(office, admin_rows.membership, "remove"))) == 5

    assert ApiToken.objects.get(pk=admin_rows.token.pk).revoked_at is not None
    assert audit_event("token.revoked").subject == f"kbb_{admin_rows.token.prefix}"
    assert Invitation.objects.get(pk=admin_rows.invitation.pk).withdrawn_at is not None
    assert audit_event("invitation.withdrawn").subject == "eve@example.org"
    assert EmbeddingSpace.objects.get(pk=admin_rows.space.pk).state == "live"
    assert Membership.objects.filter(pk=admin_rows.membership.pk).exists()


def test_a_person_is_added_by_address_and_that_is_written_down(office):
    form = {"email": "Bea@Example.org", "password1": "correct horse 77", "password2": "correct horse 77"}
    form["usable_password"] = "true"
    office.post("/admin/people/user/add/", form)

    assert User.objects.filter(email="bea@example.org").exists()
    assert audit_event("user.added").subject == "bea@example.org"


def test_changes_of_a_workspace_follow_its_rules_and_are_written_down(office, workspace):
    answer = office.post(
        f"/admin/people/workspace/{workspace.pk}/change/", {"slug": "guide", "name": "Guide"}
    )
    assert answer.status_code == 302
    assert Workspace.objects.get().slug == "guide"
    event = audit_event("workspace.changed")
    assert (event.workspace, event.subject) == (workspace, "handbook")
    assert [(each["field"], each["before"], each["after"]) for each in event.detail["values"]] == [
        ("name", workspace.name, "Guide"),
        ("slug", "handbook", "guide"),
    ]

    uuid_like = {"slug": "0" * 32, "name": "x"}
    refused = office.post(f"/admin/people/workspace/{workspace.pk}/change/", uuid_like)
    assert refused.status_code == 200
    assert Workspace.objects.get().slug == "guide"


def test_a_forged_request_without_the_token_of_the_form_does_nothing(operator, admin_rows):
    client = Client(enforce_csrf_checks=True)
    client.force_login(operator)

    assert act(client, admin_rows.job, "cancel").status_code == 403
    assert not Job.objects.get(pk=admin_rows.job.pk).cancel_requested


def test_access_of_a_person_is_explained(office, admin_rows):
    person = f"/admin/people/user/{admin_rows.person.pk}/access/"
    named = office.get(f"{person}?workspace=handbook").content.decode()
    token = office.get(f"/admin/people/apitoken/{admin_rows.token.pk}/access/").content.decode()
    assert "docs" in named
    assert f"kbb_{admin_rows.token.prefix}" in token
    for unnamed in (person, f"{person}?workspace=nowhere"):
        assert ">docs<" not in office.get(unnamed).content.decode()
    asked = ("document=x", "source=missing", f"document={'0' * 32}", f"source=docs&document={'0' * 32}")
    for wrong in (*asked, "workspace=nowhere"):
        for row in (admin_rows.membership, admin_rows.token):
            page = office.get(f"/admin/people/{row._meta.model_name}/{row.pk}/access/?{wrong}")
            assert page.status_code == 200, wrong
            assert ">docs<" not in page.content.decode(), wrong
