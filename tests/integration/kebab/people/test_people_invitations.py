"""Invitations, made and withdrawn over HTTP."""

import uuid
from datetime import timedelta
from smtplib import SMTPServerDisconnected

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.utils import timezone

from kebab.api.errors import InvalidRequest
from kebab.api.models import IdempotencyKey
from kebab.people.groups import create_group
from kebab.people.invitations import (
    find_invitation,
    invite,
)
from kebab.people.models import AuditEvent, Invitation, Role, User
from kebab.people.operator import the_operator
from tests.integration.kebab.people.inviting import ADDRESS, ask, path, secret_of
from tests.support.actors import (
    make_member,
    make_person,
    member_client,
    person_client,
    token_client,
)


class DeliveredMail(EmailBackend):
    """Stands for a mail server: what is sent leaves the machine."""


class NoMailServer(EmailBackend):
    """A mail server that is away."""

    def send_messages(self, messages):
        raise SMTPServerDisconnected("gone")


@pytest.fixture
def admin(workspace):
    return member_client(workspace, Role.ADMIN)


@pytest.fixture
def operator(workspace):
    """An operator who is a member, too."""
    user = make_member(workspace, Role.ADMIN)
    User.objects.filter(pk=user.pk).update(is_superuser=True)
    return person_client(user)


def test_an_invitation_is_mailed_and_its_link_is_told_an_operator_once(operator, workspace):
    response = ask(operator, workspace, email="Ada@Example.org", role="editor")
    body, secret = response.json(), secret_of(response)

    assert response.status_code == 201
    assert (body["email"], body["role"], body["state"]) == (ADDRESS, "editor", "open")
    assert body["link"] == f"http://testserver/invitations/{secret}"
    assert mail.outbox[0].to == [ADDRESS]
    assert body["link"] in mail.outbox[0].body
    lasts = find_invitation(secret).expires_at - timezone.now()
    assert timedelta(days=6) < lasts <= timedelta(days=7)
    assert response.headers["Cache-Control"] == "no-store"
    for kept in (Invitation.objects.values().get(), AuditEvent.objects.values().get()):
        assert secret not in str(kept)
    assert secret not in operator.get(path(workspace)).content.decode()


@pytest.mark.parametrize("has_account", [True, False])
def test_who_is_no_operator_is_told_no_link(admin, workspace, has_account):
    if has_account:
        make_person(ADDRESS)
    response = ask(admin, workspace)

    assert response.json()["link"] is None
    assert secret_of(response) not in response.content.decode()


@pytest.mark.parametrize(
    "email",
    [
        f"a@{'ü' * 63}.com",
        "a@\u00ad.com",
        "a@xn--ü.com",
        "a@\u2028x.com",
        "\u017f@example.org",
        f"a@{'b' * 63}.{'c' * 63}.{'d' * 63}.{'e' * 61}.org",
    ],
)
def test_an_address_that_no_mail_can_be_sent_to_is_not_invited(admin, workspace, email):
    response = ask(admin, workspace, email=email)

    assert (response.status_code, response.json()["code"]) == (400, "invalid_request")
    assert {error["field"] for error in response.json()["errors"]} == {"email"}
    assert not Invitation.objects.exists()


@pytest.mark.parametrize("email", ["rubbish", "", "a@b", "a b@example.org", f"a@{'ü' * 63}.com"])
def test_every_door_refuses_what_is_no_address(workspace, email):
    with pytest.raises(InvalidRequest, match="No mail can be sent to"):
        invite(the_operator(workspace), email, Role.VIEWER)

    assert not Invitation.objects.exists()


def test_an_address_of_another_script_can_be_invited(admin, workspace):
    assert ask(admin, workspace, email="ada@bücher.example").status_code == 201


def test_no_link_leads_to_a_port_that_the_caller_made_up(admin, workspace):
    response = admin.post(
        path(workspace),
        {"email": ADDRESS, "role": "viewer"},
        format="json",
        headers={"Host": "testserver:9999"},
    )

    assert response.status_code == 400
    assert not mail.outbox and not Invitation.objects.exists()


def test_the_link_is_not_repeated_for_a_retry(operator, workspace):
    headers = {"Idempotency-Key": "k"}
    fields = {"email": ADDRESS, "role": "viewer"}
    first, again = (operator.post(path(workspace), fields, format="json", headers=headers) for _ in range(2))

    assert again.json()["id"] == first.json()["id"]
    assert again.json()["link"] is None
    assert secret_of(first) not in str(IdempotencyKey.objects.values().get())
    assert len(mail.outbox) == 1


def test_where_mail_leaves_the_server_only_the_mail_has_the_link(operator, workspace, settings):
    settings.EMAIL_BACKEND = f"{__name__}.DeliveredMail"
    body = ask(operator, workspace).json()

    assert (body["link"], body["is_mailed"]) == (None, True)
    assert find_invitation(mail.outbox[0].body.partition("/invitations/")[2].split()[0]) is not None


def test_an_invitation_stands_though_no_mail_server_takes_it(admin, workspace, settings, caplog):
    settings.EMAIL_BACKEND = f"{__name__}.NoMailServer"
    response = ask(admin, workspace)

    assert (response.status_code, response.json()["is_mailed"]) == (201, False)
    assert response.json()["id"] in caplog.text
    assert "/invitations/" not in caplog.text
    assert Invitation.objects.open().exists()


def test_a_name_with_line_breaks_makes_no_header(admin, workspace):
    workspace.name = "Docs\nBcc: all@example.org"
    workspace.save()

    assert ask(admin, workspace).status_code == 201
    assert "\n" not in mail.outbox[0].subject


def test_nobody_invites_above_their_own_role(admin, workspace):
    assert ask(admin, workspace, role="owner").status_code == 403
    assert ask(member_client(workspace, Role.OWNER), workspace, role="owner").status_code == 201


def test_nobody_withdraws_an_invitation_to_a_role_above_their_own(admin, workspace):
    owner = member_client(workspace, Role.OWNER)
    made = ask(owner, workspace, role="owner").json()
    assert admin.delete(path(workspace, made["id"])).status_code == 403
    assert ask(admin, workspace, role="viewer").status_code == 403
    assert [row["state"] for row in owner.get(path(workspace)).json()["results"]] == ["open"]

    assert owner.delete(path(workspace, made["id"])).status_code == 204


def test_a_member_is_not_invited(admin, workspace):
    member = make_member(workspace)
    response = ask(admin, workspace, email=member.email.upper())

    assert (response.status_code, response.json()["code"]) == (409, "already_member")
    assert not mail.outbox


def test_only_admins_and_owners_invite(workspace):
    invitation = invite(the_operator(workspace), ADDRESS, Role.VIEWER).invitation
    for client in (
        member_client(workspace, Role.EDITOR),
        member_client(workspace),
        token_client(workspace, "search", "ingest", "manage", "ask"),
    ):
        assert client.get(path(workspace)).status_code == 403
        assert ask(client, workspace).status_code == 403
        assert client.delete(path(workspace, invitation.pk)).status_code == 403


def test_another_workspaces_invitation_is_not_there(admin, workspace, other_workspace):
    theirs = invite(the_operator(other_workspace), ADDRESS, Role.VIEWER)
    missing = admin.delete(path(workspace, uuid.uuid4()))

    assert admin.get(path(workspace)).json()["results"] == []
    assert admin.delete(path(workspace, theirs.invitation.pk)).content == missing.content
    assert missing.status_code == 404
    assert find_invitation(theirs.secret) is not None


def test_groups_of_elsewhere_and_missing_ones_are_refused_alike(admin, workspace, other_workspace):
    theirs = create_group(the_operator(other_workspace), "staff").pk
    answers = [ask(admin, workspace, groups=[str(each)]) for each in (theirs, uuid.uuid4())]

    assert {(each.status_code, each.json()["code"]) for each in answers} == {(422, "unknown_group")}
    bodies = [response.json()["detail"].rpartition(" ")[0] for response in answers]
    assert bodies[0] == bodies[1]
    assert not Invitation.objects.exists()


def test_what_is_withdrawn_is_withdrawn_once(admin, workspace):
    made = ask(admin, workspace).json()
    for _ in range(2):
        assert admin.delete(path(workspace, made["id"])).status_code == 204
    acts = AuditEvent.objects.order_by("at").values_list("action", flat=True)
    assert list(acts) == ["invitation.made", "invitation.withdrawn"]
