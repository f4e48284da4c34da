"""Groups that an invitation names, and what others do to them meanwhile."""

from threading import Event

import pytest
from django.db import transaction

from kebab.people.groups import create_group, delete_group
from kebab.people.invitations import accept_invitation, find_invitation, invite
from kebab.people.models import Group, GroupMember, Invitation, Membership, Role
from kebab.people.operator import the_operator
from tests.support.actors import make_person, make_workspace
from tests.support.concurrency import at_once, until_blocked

ADDRESS = "ada@example.org"


@pytest.fixture
def workspace(transactional_db):
    return make_workspace()


@pytest.fixture
def group(workspace):
    return create_group(the_operator(workspace), "staff")


@pytest.fixture
def secret(workspace, group):
    return invite(the_operator(workspace), ADDRESS, Role.VIEWER, [group.pk]).secret


def test_a_group_that_is_deleted_while_its_invitation_is_accepted_is_left_out(workspace, group, secret):
    ada, invitation, deleted = make_person(ADDRESS), find_invitation(secret), Event()

    def delete():
        with transaction.atomic():
            delete_group(the_operator(workspace), group.pk)
            deleted.set()
            until_blocked()

    def accept():
        assert deleted.wait(30)
        accept_invitation(invitation, ada)

    at_once([delete, accept])
    assert Membership.objects.get(workspace=workspace).user == ada
    assert not GroupMember.objects.exists()


def test_who_invites_again_waits_for_who_accepts_before_locking_groups(workspace, group, secret):
    claimed = Event()

    def accept():
        with transaction.atomic():
            Invitation.objects.select_for_update().get()
            claimed.set()
            until_blocked()
            Group.objects.select_for_update(no_key=True, nowait=True).get()

    def invite_again():
        assert claimed.wait(30)
        invite(the_operator(workspace), ADDRESS, Role.VIEWER, [group.pk])

    at_once([accept, invite_again])
    assert Invitation.objects.count() == 2
