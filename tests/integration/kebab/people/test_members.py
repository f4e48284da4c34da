from datetime import timedelta

from django.utils import timezone

from kebab.identity.models import AuditEvent, Membership, Role, User
from kebab.identity.tokens import mint_token
from tests.support.actors import (
    make_member,
    make_person,
    make_workspace,
    member_client,
    person_client,
)
from tests.support.concurrency import at_once


def path(workspace, user=None):
    below = f"/{user.pk}" if user is not None else ""
    return f"/api/v1/workspaces/{workspace.slug}/members{below}"


def add(client, workspace, email, role="viewer"):
    return client.post(path(workspace), {"email": email, "role": role}, format="json")


def change(client, workspace, user, role):
    return client.patch(path(workspace, user), {"role": role}, format="json")


def test_admin_adds_a_person_by_address_in_any_case_and_once(workspace):
    user, admin = make_person("ada@example.org"), member_client(workspace, Role.ADMIN)
    response = add(admin, workspace, "Ada@Example.org", "editor")
    assert response.status_code == 201
    assert (response.json()["user_id"], response.json()["role"]) == (user.pk, "editor")
    assert AuditEvent.objects.get().subject == "ada@example.org"
    again, unknown = add(admin, workspace, user.email), add(admin, workspace, "nobody@example.org")
    assert (again.status_code, again.json()["code"]) == (409, "already_member")
    assert (unknown.status_code, unknown.json()["code"]) == (422, "user_unknown")


def test_admin_neither_gives_nor_takes_a_role_above_their_own(workspace):
    admin, person = member_client(workspace, Role.ADMIN), make_person()
    owner, _ = (make_member(workspace, Role.OWNER) for _ in range(2))
    assert add(admin, workspace, person.email, "owner").status_code == 403
    assert change(admin, workspace, make_member(workspace), "owner").status_code == 403
    assert change(admin, workspace, owner, "viewer").status_code == 403
    assert admin.delete(path(workspace, owner)).status_code == 403
    assert add(person_client(owner), workspace, person.email, "owner").status_code == 201


def test_last_active_owner_stays_owner(workspace):
    owner = make_member(workspace, Role.OWNER)
    client = person_client(owner)
    for response in (change(client, workspace, owner, "viewer"), client.delete(path(workspace, owner))):
        assert (response.status_code, response.json()["code"]) == (409, "last_owner")

    gone = make_member(workspace, Role.OWNER)
    User.objects.filter(pk=gone.pk).update(is_active=False)
    assert client.delete(path(workspace, owner)).json()["code"] == "last_owner"
    rows = client.get(path(workspace)).json()["results"]
    assert {row["email"]: row["is_active"] for row in rows} == {owner.email: True, gone.email: False}
    assert client.delete(path(workspace, gone)).status_code == 204

    make_member(workspace, Role.OWNER)
    assert client.delete(path(workspace, owner)).status_code == 204


def test_two_owners_who_leave_at_once_leave_one(transactional_db):
    workspace = make_workspace()
    owners = [make_member(workspace, Role.OWNER) for _ in range(2)]
    pairs = [(person_client(owner), path(workspace, owner)) for owner in owners]
    answers = at_once([lambda pair=pair: pair[0].delete(pair[1]).status_code for pair in pairs])
    assert sorted(answers) == [204, 409]
    assert Membership.objects.filter(role=Role.OWNER).count() == 1


def test_viewer_may_leave_and_learns_nothing_about_who_is_a_member(workspace):
    viewer, member, stranger = make_member(workspace), make_member(workspace), make_person()
    client = person_client(viewer)
    assert client.delete(path(workspace, member)).content == client.delete(path(workspace, stranger)).content
    assert client.delete(path(workspace, viewer)).status_code == 204
    assert Membership.objects.get().user == member


def test_ownership_is_handed_over_by_making_another_owner_and_stepping_down(workspace):
    owner, heir = make_member(workspace, Role.OWNER), make_member(workspace)
    client = person_client(owner)
    assert change(client, workspace, heir, "owner").json()["role"] == "owner"
    assert AuditEvent.objects.get().detail == {"role": "owner", "before": "viewer"}
    assert change(client, workspace, owner, "viewer").json()["role"] == "viewer"
    assert change(client, workspace, heir, "viewer").status_code == 403
    rows = person_client(heir).get(path(workspace)).json()["results"]
    assert {row["email"]: row["role"] for row in rows} == {owner.email: "viewer", heir.email: "owner"}


def test_deactivation_demotion_and_removal_hold_from_the_next_request_on(workspace):
    admin, gone = (make_member(workspace, Role.ADMIN) for _ in range(2))
    client, deactivated = person_client(admin), person_client(gone)
    owner = member_client(workspace, Role.OWNER)
    assert client.get(path(workspace)).status_code == deactivated.get(path(workspace)).status_code == 200

    User.objects.filter(pk=gone.pk).update(is_active=False)
    assert deactivated.get(path(workspace)).status_code in {401, 403}
    assert add(owner, workspace, gone.email).status_code != 201
    change(owner, workspace, admin, "editor")
    assert client.get(path(workspace)).status_code == 403
    owner.delete(path(workspace, admin))
    assert client.get(path(workspace)).status_code == 404


def test_removal_records_the_tokens_that_outlive_the_member(workspace):
    maker = make_member(workspace, Role.ADMIN)
    for ends_at in (None, timezone.now() + timedelta(days=1), timezone.now() - timedelta(days=1)):
        mint_token(workspace, scopes=["search"], created_by=maker, expires_at=ends_at)
    assert member_client(workspace, Role.OWNER).delete(path(workspace, maker)).status_code == 204
    assert AuditEvent.objects.get(action="member.removed").detail == {"role": "admin", "tokens_left": 2}
