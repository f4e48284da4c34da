"""How often somebody may reach for strangers over HTTP."""

import os
import uuid

import pytest
from django.core import mail

from kebab.people.models import Invitation, Role
from tests.support.actors import make_member, make_workspace, member_client, person_client

UNLIMITED = "1000000/minute"


@pytest.fixture
def limits(settings):
    settings.KEBAB_INVITATION_LIMITS = dict.fromkeys(("inviter", "workspace", "address"), UNLIMITED)
    return settings.KEBAB_INVITATION_LIMITS


@pytest.fixture
def person(workspace):
    """Somebody whose requests no other test, and no earlier run on the same Redis, has counted."""
    user = make_member(workspace, Role.OWNER)
    user.pk, user.email = 10**12 + uuid.uuid4().int % 10**12, f"{uuid.uuid4().hex}@example.org"
    user.save(force_insert=True)
    workspace.memberships.create(user=user, role=Role.OWNER)
    return user


def an_address():
    return f"{os.getpid()}-{uuid.uuid4().hex}@example.org"


def invite(client, workspace, email=None):
    body = {"email": email or an_address(), "role": "viewer"}
    return client.post(f"/api/v1/workspaces/{workspace.slug}/invitations", body, format="json")


def add(client, workspace, email=None):
    body = {"email": email or an_address(), "role": "viewer"}
    return client.post(f"/api/v1/workspaces/{workspace.slug}/members", body, format="json")


def check_refusal(response):
    assert (response.status_code, response.json()["code"]) == (429, "rate_limited")
    assert 0 < int(response["Retry-After"]) <= 3_600
    assert "Try again in " in response.json()["detail"]


def test_a_person_invites_so_many_whatever_the_workspace(workspace, limits, person):
    limits["inviter"] = "2/hour"
    client, other = person_client(person), make_workspace()
    other.memberships.create(user=person, role=Role.OWNER)
    assert [invite(client, each).status_code for each in (workspace, other)] == [201, 201]

    check_refusal(invite(client, workspace))
    assert len(mail.outbox) == Invitation.objects.count() == 2
    assert invite(member_client(workspace, Role.ADMIN), workspace).status_code == 201


def test_a_workspace_invites_so_many_whoever_does_it(workspace, limits):
    limits["workspace"] = "2/hour"
    answers = [invite(member_client(workspace, Role.ADMIN), workspace) for _ in range(3)]

    assert [answer.status_code for answer in answers[:2]] == [201, 201]
    check_refusal(answers[2])
    assert len(mail.outbox) == 2
    elsewhere = make_workspace()
    assert invite(member_client(elsewhere, Role.ADMIN), elsewhere).status_code == 201


def test_an_address_is_invited_so_often_whoever_does_it(db, limits):
    limits["address"] = "2/hour"
    address = an_address()
    asked = [make_workspace() for _ in range(3)]
    answers = [invite(member_client(each, Role.OWNER), each, address.upper()) for each in asked]

    assert [answer.status_code for answer in answers[:2]] == [201, 201]
    check_refusal(answers[2])
    assert len(mail.outbox) == 2


def test_a_person_names_so_many_strangers_as_members(workspace, settings, person):
    settings.KEBAB_UNKNOWN_PEOPLE_LIMIT = "2/hour"
    client, known = person_client(person), make_member(make_workspace())
    assert add(client, workspace, known.email).status_code == 201
    assert [add(client, workspace).status_code for _ in range(2)] == [422, 422]

    check_refusal(add(client, workspace))
    hidden = make_member(make_workspace())
    check_refusal(add(client, workspace, hidden.email))
    assert add(member_client(workspace, Role.OWNER), workspace, hidden.email).status_code == 201


def test_who_adds_people_that_there_are_is_not_counted(workspace, settings, person):
    settings.KEBAB_UNKNOWN_PEOPLE_LIMIT = "1/hour"
    client = person_client(person)
    known = [make_member(make_workspace()).email for _ in range(3)]

    assert [add(client, workspace, email).status_code for email in (*known, known[0])] == [201] * 3 + [409]
