"""Invitations, accepted by whom they were sent to, and by nobody else."""

import threading

import pytest
from django.db import connection
from django.utils import timezone

from kebab.api.errors import Conflict, Forbidden, NotFound
from kebab.people.groups import create_group, delete_group
from kebab.people.invitations import (
    accept_as_new_user,
    accept_invitation,
    find_invitation,
    invite,
    needs_account,
    withdraw_invitation,
)
from kebab.people.models import AuditEvent, GroupMember, Invitation, Membership, Role, User
from kebab.people.operator import the_operator
from tests.integration.kebab.people.inviting import ADDRESS, PASSWORD, ask, path, secret_of
from tests.support.actors import (
    make_member,
    make_person,
    make_workspace,
    member_client,
    person_client,
)


@pytest.fixture
def secret(workspace):
    return invite(the_operator(workspace), ADDRESS, Role.EDITOR).secret


def test_whoever_has_the_address_becomes_a_member_with_role_and_groups(workspace, other_workspace):
    operator = the_operator(workspace)
    groups = [create_group(operator, name) for name in ("staff", "gone")]
    secret = invite(operator, ADDRESS, Role.EDITOR, [group.pk for group in groups]).secret
    delete_group(operator, groups[1].pk)
    ada = make_person(ADDRESS)
    assert not needs_account(find_invitation(secret))

    invitation = find_invitation(secret)
    membership = accept_invitation(invitation, ada)
    assert (membership.workspace, membership.role) == (workspace, "editor")
    assert GroupMember.objects.get(membership=membership).group == groups[0]
    event = AuditEvent.objects.get(action="invitation.accepted")
    assert (event.actor, event.workspace_id, event.detail["groups"]) == (ADDRESS, workspace.pk, ["staff"])
    assert find_invitation(secret) is None
    with pytest.raises(NotFound):
        accept_invitation(invitation, ada)


def test_who_accepts_has_shown_the_address_to_be_theirs(secret):
    ada = make_person(ADDRESS)
    assert not ada.has_proved_email
    accept_invitation(find_invitation(secret), ada)

    assert User.objects.get(pk=ada.pk).has_proved_email


def test_somebody_new_gets_an_account_with_a_password(workspace, secret):
    assert needs_account(find_invitation(secret))
    membership = accept_as_new_user(find_invitation(secret), password=PASSWORD, display_name="Ada")

    user = User.objects.get(email=ADDRESS)
    assert user.check_password(PASSWORD)
    assert user.has_proved_email
    assert (membership.user, membership.role, user.is_staff) == (user, "editor", False)
    assert PASSWORD not in str(list(AuditEvent.objects.values()))


def test_an_account_that_exists_gets_no_other_password(secret):
    ada = make_person(ADDRESS)
    ada.set_password("her own")
    ada.save()
    with pytest.raises(Conflict):
        accept_as_new_user(find_invitation(secret), password=PASSWORD)

    ada.refresh_from_db()
    assert ada.check_password("her own")
    assert not Membership.objects.exists()
    assert find_invitation(secret) is not None


def test_a_link_is_of_no_use_to_another_person(secret):
    with pytest.raises(Forbidden) as refusal:
        accept_invitation(find_invitation(secret), make_person("eve@example.org"))

    assert refusal.value.code == "invited_is_another"
    assert not Membership.objects.exists()
    assert find_invitation(secret) is not None


def test_whoever_became_a_member_meanwhile_keeps_their_role(workspace, secret):
    ada = make_person(ADDRESS)
    Membership.objects.create(workspace=workspace, user=ada, role=Role.ADMIN)

    assert accept_invitation(find_invitation(secret), ada).role == "admin"


def withdrawn(workspace, invited):
    withdraw_invitation(the_operator(workspace), invited.invitation.pk)


def expired(workspace, invited):
    Invitation.objects.update(expires_at=timezone.now())


def used(workspace, invited):
    accept_as_new_user(find_invitation(invited.secret), password=PASSWORD)


def replaced(workspace, invited):
    invite(the_operator(workspace), ADDRESS, Role.VIEWER)


def inviter_removed(workspace, invited):
    Membership.objects.filter(user__email=invited.invitation.invited_by).delete()


def inviter_demoted(workspace, invited):
    Membership.objects.filter(user__email=invited.invitation.invited_by).update(role=Role.EDITOR)


def inviter_deactivated(workspace, invited):
    User.objects.filter(email=invited.invitation.invited_by).update(is_active=False)


@pytest.mark.parametrize(
    ("end", "state"),
    [
        (withdrawn, "withdrawn"),
        (expired, "expired"),
        (used, "accepted"),
        (replaced, "withdrawn"),
        (inviter_removed, "void"),
        (inviter_demoted, "void"),
        (inviter_deactivated, "void"),
    ],
)
def test_an_invitation_that_has_ended_looks_like_one_that_never_was(workspace, end, state):
    inviter = make_member(workspace, Role.ADMIN)
    response = ask(person_client(inviter), workspace, role="admin")
    invitation = Invitation.objects.get()
    secret = secret_of(response)
    found = find_invitation(secret)
    assert found == invitation

    end(workspace, type("Invited", (), {"invitation": invitation, "secret": secret}))
    assert find_invitation(secret) is None
    with pytest.raises(NotFound):
        accept_as_new_user(found, password=PASSWORD)
    rows = member_client(workspace, Role.OWNER).get(path(workspace)).json()["results"]
    assert {row["id"]: row["state"] for row in rows}[str(invitation.pk)] == state


def test_an_admin_who_is_owner_no_more_leaves_no_way_to_become_one(workspace):
    owner = make_member(workspace, Role.OWNER)
    secret = secret_of(ask(person_client(owner), workspace, role="owner"))
    Membership.objects.filter(user=owner).update(role=Role.ADMIN)

    assert find_invitation(secret) is None


def test_what_is_no_secret_asks_the_database_nothing(db, django_assert_num_queries):
    with django_assert_num_queries(0):
        for wrong in ("", "x" * 42, "x" * 44, "é" * 43, "x" * 42 + "\0", "x" * 43 + "\n"):
            assert find_invitation(wrong) is None
    with django_assert_num_queries(1):
        assert find_invitation("x" * 43) is None


@pytest.mark.django_db(transaction=True)
def test_two_who_open_a_link_at_once_are_one_member(transactional_db):
    workspace = make_workspace()
    invitation = invite(the_operator(workspace), ADDRESS, Role.VIEWER).invitation
    start, ends = threading.Barrier(2), []

    def accept():
        start.wait()
        try:
            accept_as_new_user(invitation, password=PASSWORD)
            ends.append("accepted")
        except (NotFound, Conflict) as error:
            ends.append(error.code)
        finally:
            connection.close()

    threads = [threading.Thread(target=accept) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(ends) == ["accepted", "not_found"]
    assert Membership.objects.count() == 1
