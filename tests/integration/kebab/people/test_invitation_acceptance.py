from threading import Event

import pytest
from django.db import transaction
from django.utils import timezone

from kebab.errors import Conflict, Forbidden, NotFound
from kebab.identity.models import AuditEvent, Group, GroupMember, Invitation, Membership, Role, User
from kebab.people.groups import create_group, delete_group
from kebab.people.invitations import (
    accept_as_new_user,
    accept_invitation,
    find_invitation,
    invite,
    needs_account,
    withdraw_invitation,
)
from kebab.people.operator import command_line_access
from tests.integration.kebab.people.invitations import ADDRESS, PASSWORD, ask, mailed_secret, path
from tests.support.actors import make_member, make_person, make_workspace, member_client, person_client
from tests.support.concurrency import at_once, until_blocked


@pytest.fixture
def secret(workspace):
    return invite(command_line_access(workspace), ADDRESS, Role.EDITOR).secret


def test_invited_person_becomes_a_member_with_role_and_groups(workspace, other_workspace):
    operator = command_line_access(workspace)
    groups = [create_group(operator, name) for name in ("staff", "gone")]
    secret = invite(operator, ADDRESS, Role.EDITOR, [group.pk for group in groups]).secret
    delete_group(operator, groups[1].pk)
    ada = make_person(ADDRESS)
    invitation = find_invitation(secret)
    assert not needs_account(invitation)
    assert not ada.has_proved_email

    membership = accept_invitation(invitation, ada)
    assert (membership.workspace, membership.role) == (workspace, "editor")
    assert GroupMember.objects.get(membership=membership).group == groups[0]
    assert User.objects.get(pk=ada.pk).has_proved_email
    event = AuditEvent.objects.get(action="invitation.accepted")
    assert (event.actor, event.workspace_id, event.detail["groups"]) == (ADDRESS, workspace.pk, ["staff"])
    assert find_invitation(secret) is None
    with pytest.raises(NotFound):
        accept_invitation(invitation, ada)


def test_new_person_gets_an_account_with_a_password(secret):
    assert needs_account(find_invitation(secret))
    membership = accept_as_new_user(find_invitation(secret), password=PASSWORD, display_name="Ada")
    user = User.objects.get(email=ADDRESS)
    assert user.check_password(PASSWORD)
    assert user.has_proved_email
    assert (membership.user, membership.role, user.is_staff) == (user, "editor", False)
    assert PASSWORD not in str(list(AuditEvent.objects.values()))


def test_invitation_changes_no_password_and_no_role_and_serves_no_other_person(workspace, secret):
    with pytest.raises(Forbidden) as refusal:
        accept_invitation(find_invitation(secret), make_person("eve@example.org"))
    assert refusal.value.code == "invited_is_another"
    ada = make_person(ADDRESS)
    ada.set_password("her own")
    ada.save()
    with pytest.raises(Conflict):
        accept_as_new_user(find_invitation(secret), password=PASSWORD)
    ada.refresh_from_db()
    assert ada.check_password("her own")
    assert not Membership.objects.exists()
    Membership.objects.create(workspace=workspace, user=ada, role=Role.ADMIN)
    assert accept_invitation(find_invitation(secret), ada).role == "admin"


#: Acts that end an invitation, given its workspace, the invitation, its secret and its inviter.
ENDS = {
    "withdrawn": (
        "withdrawn",
        lambda ws, one, secret, who: withdraw_invitation(command_line_access(ws), one.pk),
    ),
    "expired": ("expired", lambda ws, one, *_: Invitation.objects.update(expires_at=timezone.now())),
    "used": ("accepted", lambda ws, one, *_: accept_as_new_user(one, password=PASSWORD)),
    "replaced": ("withdrawn", lambda ws, *_: invite(command_line_access(ws), ADDRESS, Role.VIEWER)),
    "inviter removed": ("void", lambda ws, one, secret, who: members(who).delete()),
    "inviter demoted": ("void", lambda ws, one, secret, who: members(who).update(role=Role.EDITOR)),
    "inviter deactivated": (
        "void",
        lambda ws, one, secret, who: User.objects.filter(pk=who.pk).update(is_active=False),
    ),
}


def members(user):
    return Membership.objects.filter(user=user)


def test_ended_invitation_is_answered_like_an_unknown_one(db, subtests):
    for name, (state, end) in ENDS.items():
        with subtests.test(end=name), transaction.atomic():
            workspace = make_workspace()
            inviter = make_member(workspace, Role.ADMIN)
            assert ask(person_client(inviter), workspace, role="admin").status_code == 201
            invitation, secret = Invitation.objects.get(), mailed_secret()
            assert find_invitation(secret) == invitation
            end(workspace, invitation, secret, inviter)
            assert find_invitation(secret) is None
            with pytest.raises(NotFound):
                accept_as_new_user(invitation, password=PASSWORD)
            rows = member_client(workspace, Role.OWNER).get(path(workspace)).json()["results"]
            assert {row["id"]: row["state"] for row in rows}[str(invitation.pk)] == state
            transaction.set_rollback(True)


def test_owner_who_was_demoted_to_admin_leaves_no_invitation_to_ownership(workspace):
    owner = make_member(workspace, Role.OWNER)
    ask(person_client(owner), workspace, role="owner")
    Membership.objects.filter(user=owner).update(role=Role.ADMIN)
    assert find_invitation(mailed_secret()) is None


def test_malformed_secret_is_refused_without_a_query(db, django_assert_num_queries):
    with django_assert_num_queries(0):
        for wrong in ("", "x" * 42, "x" * 44, "é" * 43, "x" * 42 + "\0", "x" * 43 + "\n"):
            assert find_invitation(wrong) is None
    with django_assert_num_queries(1):
        assert find_invitation("x" * 43) is None


def test_link_opened_twice_at_once_makes_one_member(transactional_db):
    invitation = invite(command_line_access(make_workspace()), ADDRESS, Role.VIEWER).invitation

    def accept():
        try:
            accept_as_new_user(invitation, password=PASSWORD)
        except (NotFound, Conflict) as error:
            return error.code
        return "accepted"

    assert sorted(at_once([accept, accept])) == ["accepted", "not_found"]
    assert Membership.objects.count() == 1


@pytest.fixture
def workspace_and_group(transactional_db):
    """Commit a workspace and a group in it."""
    workspace = make_workspace()
    return workspace, create_group(command_line_access(workspace), "staff")


def test_group_that_is_deleted_while_its_invitation_is_accepted_is_left_out(workspace_and_group):
    workspace, group = workspace_and_group
    secret = invite(command_line_access(workspace), ADDRESS, Role.VIEWER, [group.pk]).secret
    ada, invitation, deleted = make_person(ADDRESS), find_invitation(secret), Event()

    def delete():
        with transaction.atomic():
            delete_group(command_line_access(workspace), group.pk)
            deleted.set()
            until_blocked()

    def accept():
        assert deleted.wait(30)
        accept_invitation(invitation, ada)

    at_once([delete, accept])
    assert Membership.objects.get(workspace=workspace).user == ada
    assert not GroupMember.objects.exists()


def test_new_invitation_waits_for_an_acceptance_before_locking_groups(workspace_and_group):
    workspace, group = workspace_and_group
    invite(command_line_access(workspace), ADDRESS, Role.VIEWER, [group.pk])
    claimed = Event()

    def accept():
        with transaction.atomic():
            Invitation.objects.select_for_update().get()
            claimed.set()
            until_blocked()
            Group.objects.select_for_update(no_key=True, nowait=True).get()

    def invite_again():
        assert claimed.wait(30)
        invite(command_line_access(workspace), ADDRESS, Role.VIEWER, [group.pk])

    at_once([accept, invite_again])
    assert Invitation.objects.count() == 2
