from datetime import timedelta
from smtplib import SMTPServerDisconnected

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.utils import timezone

from kebab.errors import InvalidRequest
from kebab.http.api.models import IdempotencyKey
from kebab.identity.models import AuditEvent, Invitation, Role, User
from kebab.people.invitations import find_invitation, invite
from kebab.people.operator import command_line_access
from tests.integration.kebab.people.invitations import ADDRESS, ask, mailed_secret, path
from tests.support.actors import make_member, make_person, member_client, person_client


class DeliveredMail(EmailBackend):
    """A mail server: mail leaves the machine."""


class NoMailServer(EmailBackend):
    """A mail server that is away."""

    def send_messages(self, messages):
        raise SMTPServerDisconnected("gone")


@pytest.fixture
def operator(workspace):
    """Create an operator who is also a member."""
    user = make_member(workspace, Role.ADMIN)
    User.objects.filter(pk=user.pk).update(is_superuser=True)
    return person_client(user)


def test_invitation_is_mailed_and_an_operator_sees_its_link_once(operator, workspace):
    response = ask(operator, workspace, email="Ada@Example.org", role="editor")
    body, secret = response.json(), mailed_secret()
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
def test_admin_without_operator_rights_sees_no_link(admin, workspace, has_account):
    if has_account:
        make_person(ADDRESS)
    response = ask(admin, workspace)
    assert response.json()["link"] is None
    assert mailed_secret() not in response.content.decode()


UNDELIVERABLE = [
    f"a@{'ü' * 63}.com",
    "a@\u00ad.com",
    "a@xn--ü.com",
    "a@\u2028x.com",
    "\u017f@example.org",
    f"a@{'b' * 63}.{'c' * 63}.{'d' * 63}.{'e' * 61}.org",
]


def test_undeliverable_address_is_not_invited(admin, workspace, subtests):
    for email in UNDELIVERABLE:
        with subtests.test(api=email):
            response = ask(admin, workspace, email=email)
            assert (response.status_code, response.json()["code"]) == (400, "invalid_request")
            assert {error["field"] for error in response.json()["errors"]} == {"email"}
    for email in ("rubbish", "", "a@b", "a b@example.org", UNDELIVERABLE[0]):
        with subtests.test(function=email), pytest.raises(InvalidRequest):
            invite(command_line_access(workspace), email, Role.VIEWER)
    assert not Invitation.objects.exists()
    assert ask(admin, workspace, email="ada@bücher.example").status_code == 201


def test_link_never_leads_to_a_port_of_the_callers_choice(admin, workspace):
    fields, headers = {"email": ADDRESS, "role": "viewer"}, {"Host": "testserver:9999"}
    assert admin.post(path(workspace), fields, format="json", headers=headers).status_code == 400
    assert not mail.outbox and not Invitation.objects.exists()


def test_link_is_not_repeated_for_a_retry(operator, workspace):
    fields, headers = {"email": ADDRESS, "role": "viewer"}, {"Idempotency-Key": "k"}
    first, again = (operator.post(path(workspace), fields, format="json", headers=headers) for _ in range(2))
    assert again.json()["id"] == first.json()["id"]
    assert again.json()["link"] is None
    assert mailed_secret() not in str(IdempotencyKey.objects.values().get())
    assert len(mail.outbox) == 1


def test_link_is_in_the_mail_only_where_mail_is_delivered(operator, workspace, settings):
    settings.EMAIL_BACKEND = f"{__name__}.DeliveredMail"
    body = ask(operator, workspace).json()
    assert (body["link"], body["is_mailed"]) == (None, True)
    assert find_invitation(mailed_secret()) is not None


def test_invitation_is_kept_when_no_mail_server_takes_it(admin, workspace, settings, caplog):
    settings.EMAIL_BACKEND = f"{__name__}.NoMailServer"
    response = ask(admin, workspace)
    assert (response.status_code, response.json()["is_mailed"]) == (201, False)
    assert response.json()["id"] in caplog.text
    assert "/invitations/" not in caplog.text
    assert Invitation.objects.open().exists()


def test_workspace_name_with_line_breaks_adds_no_mail_header(admin, workspace):
    workspace.name = "Docs\nBcc: all@example.org"
    workspace.save()
    assert ask(admin, workspace).status_code == 201
    assert "\n" not in mail.outbox[0].subject


def test_admin_neither_makes_nor_withdraws_an_invitation_to_a_higher_role(admin, workspace):
    owner = member_client(workspace, Role.OWNER)
    assert ask(admin, workspace, role="owner").status_code == 403
    made = ask(owner, workspace, role="owner")
    assert made.status_code == 201
    address = path(workspace, made.json()["id"])
    assert admin.delete(address).status_code == 403
    assert ask(admin, workspace, role="viewer").status_code == 403
    assert [row["state"] for row in owner.get(path(workspace)).json()["results"]] == ["open"]
    assert owner.delete(address).status_code == 204


def test_member_is_not_invited(admin, workspace):
    response = ask(admin, workspace, email=make_member(workspace).email.upper())
    assert (response.status_code, response.json()["code"]) == (409, "already_member")
    assert not mail.outbox


def test_invitation_is_withdrawn_once(admin, workspace):
    made = ask(admin, workspace).json()
    for _ in range(2):
        assert admin.delete(path(workspace, made["id"])).status_code == 204
    acts = AuditEvent.objects.order_by("at").values_list("action", flat=True)
    assert list(acts) == ["invitation.made", "invitation.withdrawn"]
