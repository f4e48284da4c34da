import os
import uuid

import pytest
from django.core import mail

from kebab.identity.models import Invitation, Role
from tests.support.actors import make_member, make_workspace, member_client, person_client

UNLIMITED = "1000000/minute"


@pytest.fixture
def limits(settings):
    settings.KEBAB_INVITATION_LIMITS = dict.fromkeys(("inviter", "workspace", "address"), UNLIMITED)
    return settings.KEBAB_INVITATION_LIMITS


@pytest.fixture
def person(workspace):
    """Return a person whose requests no other test and no earlier run has counted."""
    user = make_member(workspace, Role.OWNER)
    user.pk, user.email = 10**12 + uuid.uuid4().int % 10**12, f"{uuid.uuid4().hex}@example.org"
    user.save(force_insert=True)
    workspace.memberships.create(user=user, role=Role.OWNER)
    return user


def an_address():
    return f"{os.getpid()}-{uuid.uuid4().hex}@example.org"


def send(kind, client, workspace, email=None):
    body = {"email": email or an_address(), "role": "viewer"}
    return client.post(f"/api/v1/workspaces/{workspace.slug}/{kind}", body, format="json")


def invite(client, workspace, email=None):
    return send("invitations", client, workspace, email)


def add(client, workspace, email=None):
    return send("members", client, workspace, email)


def assert_refused(response):
    assert (response.status_code, response.json()["code"]) == (429, "rate_limited")
    assert 0 < int(response["Retry-After"]) <= 3_600


def test_invitations_are_limited_per_inviter(workspace, limits, person):
    limits["inviter"] = "2/hour"
    client, other = person_client(person), make_workspace()
    other.memberships.create(user=person, role=Role.OWNER)
    assert [invite(client, each).status_code for each in (workspace, other)] == [201, 201]
    assert_refused(invite(client, workspace))
    assert len(mail.outbox) == Invitation.objects.count() == 2
    assert invite(member_client(workspace, Role.ADMIN), workspace).status_code == 201


def test_invitations_are_limited_per_workspace(workspace, limits):
    limits["workspace"] = "2/hour"
    answers = [invite(member_client(workspace, Role.ADMIN), workspace) for _ in range(3)]
    assert [answer.status_code for answer in answers[:2]] == [201, 201]
    assert_refused(answers[2])
    assert len(mail.outbox) == 2
    elsewhere = make_workspace()
    assert invite(member_client(elsewhere, Role.ADMIN), elsewhere).status_code == 201


def test_invitations_are_limited_per_address(db, limits):
    limits["address"] = "2/hour"
    address = an_address()
    asked = [make_workspace() for _ in range(3)]
    answers = [invite(member_client(each, Role.OWNER), each, address.upper()) for each in asked]
    assert [answer.status_code for answer in answers[:2]] == [201, 201]
    assert_refused(answers[2])
    assert len(mail.outbox) == 2


def test_attempts_to_add_unknown_addresses_are_limited(workspace, settings, person):
    settings.KEBAB_UNKNOWN_PEOPLE_LIMIT = "2/hour"
    client, known = person_client(person), [make_member(make_workspace()).email for _ in range(3)]
    assert [add(client, workspace, email).status_code for email in (*known, known[0])] == [201] * 3 + [409]
    assert [add(client, workspace).status_code for _ in range(2)] == [422, 422]

    assert_refused(add(client, workspace))
    hidden = make_member(make_workspace())
    assert_refused(add(client, workspace, hidden.email))
    assert add(member_client(workspace, Role.OWNER), workspace, hidden.email).status_code == 201
