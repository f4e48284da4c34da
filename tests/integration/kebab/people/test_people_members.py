"""Members over HTTP."""

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from kebab.people.models import AuditEvent, Membership, Role, User
from kebab.people.tokens import mint_token
from tests.support.actors import (
    make_member,
    make_person,
    make_workspace,
    member_client,
    person_client,
    token_client,
)


def path(workspace, user=None):
    below = f"/{user.pk}" if user is not None else ""
    return f"/api/v1/workspaces/{workspace.slug}/members{below}"


def add(client, workspace, email, role="viewer"):
    return client.post(path(workspace), {"email": email, "role": role}, format="json")


def test_an_admin_adds_a_user_by_address_in_any_case(workspace):
    user = make_person("ada@example.org")
    response = add(member_client(workspace, Role.ADMIN), workspace, "Ada@Example.org", "editor")

    assert response.status_code == 201
    assert (response.json()["user_id"], response.json()["role"]) == (user.pk, "editor")
    assert AuditEvent.objects.get().subject == "ada@example.org"


def test_an_unknown_address_is_422_with_the_remedy(workspace):
    response = add(member_client(workspace, Role.ADMIN), workspace, "nobody@example.org")

    assert (response.status_code, response.json()["code"]) == (422, "user_unknown")
    assert "create" in response.json()["detail"]


def test_a_member_cannot_be_added_twice(workspace):
    member = make_member(workspace)
    response = add(member_client(workspace, Role.ADMIN), workspace, member.email)

    assert (response.status_code, response.json()["code"]) == (409, "already_member")


def test_nobody_gives_a_role_above_their_own(workspace):
    admin = member_client(workspace, Role.ADMIN)
    viewer = make_member(workspace)
    person = make_person()

    assert add(admin, workspace, person.email, "owner").status_code == 403
    assert admin.patch(path(workspace, viewer), {"role": "owner"}, format="json").status_code == 403
    assert add(member_client(workspace, Role.OWNER), workspace, person.email, "owner").status_code == 201


def test_nobody_takes_a_role_above_their_own(workspace):
    owner = make_member(workspace, Role.OWNER)
    make_member(workspace, Role.OWNER)
    admin = member_client(workspace, Role.ADMIN)

    assert admin.patch(path(workspace, owner), {"role": "viewer"}, format="json").status_code == 403
    assert admin.delete(path(workspace, owner)).status_code == 403


def test_editors_viewers_and_tokens_may_not_manage_members(workspace):
    member = make_member(workspace)
    for client in (
        member_client(workspace, Role.EDITOR),
        member_client(workspace),
        token_client(workspace, "manage"),
    ):
        assert client.get(path(workspace)).status_code == 403
        assert add(client, workspace, "a@example.org").status_code == 403
        assert client.patch(path(workspace, member), {"role": "viewer"}, format="json").status_code == 403
        assert client.delete(path(workspace, member)).status_code == 403


def test_the_last_owner_stays_owner(workspace):
    owner = make_member(workspace, Role.OWNER)
    client = person_client(owner)
    for response in (
        client.patch(path(workspace, owner), {"role": "viewer"}, format="json"),
        client.delete(path(workspace, owner)),
    ):
        assert (response.status_code, response.json()["code"]) == (409, "last_owner")

    make_member(workspace, Role.OWNER)
    assert client.delete(path(workspace, owner)).status_code == 204


@pytest.mark.django_db(transaction=True)
def test_two_owners_who_step_down_at_once_leave_one(transactional_db):
    workspace = make_workspace()
    owners = [make_member(workspace, Role.OWNER) for _ in range(2)]
    clients = [person_client(owner) for owner in owners]
    start = threading.Barrier(2)
    answers = []

    def leave(client, owner):
        try:
            start.wait()
            answers.append(client.delete(path(workspace, owner)).status_code)
        finally:
            connection.close()

    threads = [threading.Thread(target=leave, args=pair) for pair in zip(clients, owners, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(answers) == [204, 409]
    assert Membership.objects.filter(role=Role.OWNER).count() == 1


def test_anyone_may_leave(workspace):
    viewer = make_member(workspace)

    assert person_client(viewer).delete(path(workspace, viewer)).status_code == 204
    assert not Membership.objects.exists()


def test_a_viewer_learns_nothing_about_who_is_a_member(workspace):
    member, stranger = make_member(workspace), make_person()
    client = member_client(workspace)

    assert client.delete(path(workspace, member)).content == client.delete(path(workspace, stranger)).content


def test_a_member_of_another_workspace_is_no_member_here(workspace, other_workspace):
    foreign = make_member(other_workspace)
    client = member_client(workspace, Role.OWNER)

    assert client.delete(path(workspace, foreign)).status_code == 404
    assert client.patch(path(workspace, foreign), {"role": "viewer"}, format="json").status_code == 404


def test_members_are_listed_with_address_and_role(workspace, other_workspace):
    make_member(other_workspace)
    admin = make_member(workspace, Role.ADMIN)
    rows = person_client(admin).get(path(workspace)).json()["results"]

    assert [(row["email"], row["role"]) for row in rows] == [(admin.email, "admin")]


def test_a_change_of_role_is_written_down(workspace):
    viewer = make_member(workspace)
    client = member_client(workspace, Role.ADMIN)
    response = client.patch(path(workspace, viewer), {"role": "editor"}, format="json")

    assert response.json()["role"] == "editor"
    assert AuditEvent.objects.get().detail == {"role": "editor", "before": "viewer"}


def test_ownership_is_handed_over_by_making_another_owner_and_stepping_down(workspace):
    owner, heir = make_member(workspace, Role.OWNER), make_member(workspace)
    client = person_client(owner)
    assert client.patch(path(workspace, heir), {"role": "owner"}, format="json").json()["role"] == "owner"
    assert client.patch(path(workspace, owner), {"role": "viewer"}, format="json").json()["role"] == "viewer"

    assert client.patch(path(workspace, heir), {"role": "viewer"}, format="json").status_code == 403
    assert person_client(heir).get(path(workspace)).status_code == 200


def test_an_owner_who_was_deactivated_is_none_to_rely_on(workspace):
    owner, gone = (make_member(workspace, Role.OWNER) for _ in range(2))
    User.objects.filter(pk=gone.pk).update(is_active=False)
    client = person_client(owner)

    assert client.delete(path(workspace, owner)).json()["code"] == "last_owner"
    rows = client.get(path(workspace)).json()["results"]
    assert {row["email"]: row["is_active"] for row in rows} == {owner.email: True, gone.email: False}
    assert client.delete(path(workspace, gone)).status_code == 204


def test_whoever_is_deactivated_is_out_with_the_next_request(workspace):
    admin = make_member(workspace, Role.ADMIN)
    client = person_client(admin)
    assert client.get(path(workspace)).status_code == 200
    User.objects.filter(pk=admin.pk).update(is_active=False)

    assert client.get(path(workspace)).status_code in {401, 403}
    assert add(member_client(workspace, Role.ADMIN), workspace, admin.email).status_code != 201


def test_a_change_of_role_and_a_removal_hold_from_the_next_request_on(workspace):
    admin, other = make_member(workspace, Role.ADMIN), member_client(workspace, Role.OWNER)
    client = person_client(admin)
    assert client.get(path(workspace)).status_code == 200
    other.patch(path(workspace, admin), {"role": "editor"}, format="json")
    assert client.get(path(workspace)).status_code == 403

    other.delete(path(workspace, admin))
    assert client.get(path(workspace)).status_code == 404


def test_whoever_removes_a_member_is_told_of_tokens_that_outlive_them(workspace):
    maker = make_member(workspace, Role.ADMIN)
    for ends_at in (None, timezone.now() + timedelta(days=1), timezone.now() - timedelta(days=1)):
        mint_token(workspace, scopes=["search"], created_by=maker, expires_at=ends_at)
    owner = member_client(workspace, Role.OWNER)

    assert owner.delete(path(workspace, maker)).status_code == 204
    assert AuditEvent.objects.get(action="member.removed").detail == {"role": "admin", "tokens_left": 2}


def test_members_are_listed_in_as_many_queries_however_many_there_are(
    workspace, django_assert_max_num_queries
):
    client = member_client(workspace, Role.ADMIN)

    def listed():
        with django_assert_max_num_queries(12) as queries:
            client.get(path(workspace))
        return len(queries)

    few = listed()
    for _ in range(10):
        make_member(workspace)
    assert listed() == few
