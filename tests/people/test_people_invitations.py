"""Invitations: made and withdrawn over HTTP, accepted by whom they were sent to."""

import threading
import uuid
from datetime import timedelta
from smtplib import SMTPServerDisconnected

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.db import connection
from django.utils import timezone

from kebab.api.errors import Conflict, Forbidden, InvalidRequest, NotFound, Unprocessable
from kebab.api.models import IdempotencyKey
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
from tests.api_plumbing.actors import (
    make_member,
    make_person,
    make_workspace,
    member_client,
    person_client,
    token_client,
)

PASSWORD = "a horse, a staple and 7 lamps"
ADDRESS = "ada@example.org"


class DeliveredMail(EmailBackend):
    """Stands for a mail server: what is sent leaves the machine."""


class NoMailServer(EmailBackend):
    """A mail server that is away."""

    def send_messages(self, messages):
        raise SMTPServerDisconnected("gone")


def path(workspace, invitation_id=None):
    below = "" if invitation_id is None else f"/{invitation_id}"
    return f"/api/v1/workspaces/{workspace.slug}/invitations{below}"


def ask(client, workspace, /, **fields):
    return client.post(path(workspace), {"email": ADDRESS, "role": "viewer", **fields}, format="json")


def secret_of(response):
    assert response.status_code == 201
    return mail.outbox[-1].body.partition("/invitations/")[2].split()[0]


@pytest.fixture
def admin(workspace):
    return member_client(workspace, Role.ADMIN)


@pytest.fixture
def operator(workspace):
    """An operator who is a member, too."""
    user = make_member(workspace, Role.ADMIN)
    User.objects.filter(pk=user.pk).update(is_superuser=True)
    return person_client(user)


@pytest.fixture
def secret(workspace):
    return invite(the_operator(workspace), ADDRESS, Role.EDITOR).secret


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


def test_whoever_has_the_address_becomes_a_member_with_role_and_groups(workspace, other_workspace):
    operator = the_operator(workspace)
    groups = [create_group(operator, name) for name in ("staff", "gone")]
    secret = invite(operator, ADDRESS, Role.EDITOR, [group.pk for group in groups]).secret
    delete_group(operator, groups[1].pk)
    ada = make_person(ADDRESS)
    assert not needs_account(find_invitation(secret))

    membership = accept_invitation(secret, ada)
    assert (membership.workspace, membership.role) == (workspace, "editor")
    assert GroupMember.objects.get(membership=membership).group == groups[0]
    event = AuditEvent.objects.get(action="invitation.accepted")
    assert (event.actor, event.workspace_id, event.detail["groups"]) == (ADDRESS, workspace.pk, ["staff"])
    assert find_invitation(secret) is None
    with pytest.raises(NotFound):
        accept_invitation(secret, ada)


def test_somebody_new_gets_an_account_with_a_password(workspace, secret):
    assert needs_account(find_invitation(secret))
    membership = accept_as_new_user(secret, password=PASSWORD, display_name="Ada")

    user = User.objects.get(email=ADDRESS)
    assert user.check_password(PASSWORD)
    assert user.has_proved_email
    assert (membership.user, membership.role, user.is_staff) == (user, "editor", False)
    assert PASSWORD not in str(list(AuditEvent.objects.values()))


@pytest.mark.parametrize("password", ["short", "passwordpassword"[:8], "1234567890123", ADDRESS])
def test_a_weak_password_makes_no_account_and_uses_nothing_up(secret, password):
    with pytest.raises(Unprocessable) as refusal:
        accept_as_new_user(secret, password=password)

    assert refusal.value.code == "password_refused"
    assert {error.field for error in refusal.value.errors} == {"password"}
    assert not User.objects.filter(email=ADDRESS).exists()
    assert find_invitation(secret) is not None


def test_an_account_that_exists_gets_no_other_password(secret):
    ada = make_person(ADDRESS)
    ada.set_password("her own")
    ada.save()
    with pytest.raises(Conflict):
        accept_as_new_user(secret, password=PASSWORD)

    ada.refresh_from_db()
    assert ada.check_password("her own")
    assert not Membership.objects.exists()
    assert find_invitation(secret) is not None


def test_a_link_is_of_no_use_to_another_person(secret):
    with pytest.raises(Forbidden) as refusal:
        accept_invitation(secret, make_person("eve@example.org"))

    assert refusal.value.code == "invited_is_another"
    assert not Membership.objects.exists()
    assert find_invitation(secret) is not None


def test_whoever_became_a_member_meanwhile_keeps_their_role(workspace, secret):
    ada = make_person(ADDRESS)
    Membership.objects.create(workspace=workspace, user=ada, role=Role.ADMIN)

    assert accept_invitation(secret, ada).role == "admin"


def withdrawn(workspace, invited):
    withdraw_invitation(the_operator(workspace), invited.invitation.pk)


def expired(workspace, invited):
    Invitation.objects.update(expires_at=timezone.now())


def used(workspace, invited):
    accept_as_new_user(invited.secret, password=PASSWORD)


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
    assert find_invitation(secret) == invitation

    end(workspace, type("Invited", (), {"invitation": invitation, "secret": secret}))
    assert find_invitation(secret) is None
    with pytest.raises(NotFound) as ended:
        accept_as_new_user(secret, password=PASSWORD)
    with pytest.raises(NotFound) as never:
        accept_as_new_user("x" * 43, password=PASSWORD)
    assert str(ended.value) == str(never.value)
    rows = member_client(workspace, Role.OWNER).get(path(workspace)).json()["results"]
    assert {row["id"]: row["state"] for row in rows}[str(invitation.pk)] == state


def test_an_admin_who_is_owner_no_more_leaves_no_way_to_become_one(workspace):
    owner = make_member(workspace, Role.OWNER)
    secret = secret_of(ask(person_client(owner), workspace, role="owner"))
    Membership.objects.filter(user=owner).update(role=Role.ADMIN)

    assert find_invitation(secret) is None


def test_what_is_withdrawn_is_withdrawn_once(admin, workspace):
    made = ask(admin, workspace).json()
    for _ in range(2):
        assert admin.delete(path(workspace, made["id"])).status_code == 204
    acts = AuditEvent.objects.order_by("at").values_list("action", flat=True)
    assert list(acts) == ["invitation.made", "invitation.withdrawn"]


def test_what_is_no_secret_asks_the_database_nothing(db, django_assert_num_queries):
    with django_assert_num_queries(0):
        for wrong in ("", "x" * 42, "x" * 44, "é" * 43, "x" * 42 + "\0", "x" * 43 + "\n"):
            assert find_invitation(wrong) is None
    with django_assert_num_queries(1):
        assert find_invitation("x" * 43) is None


@pytest.mark.django_db(transaction=True)
def test_two_who_open_a_link_at_once_are_one_member(transactional_db):
    workspace = make_workspace()
    secret = invite(the_operator(workspace), ADDRESS, Role.VIEWER).secret
    start, ends = threading.Barrier(2), []

    def accept():
        start.wait()
        try:
            accept_as_new_user(secret, password=PASSWORD)
            ends.append("accepted")
        except (NotFound, Conflict) as error:
            ends.append(error.code)
        connection.close()

    threads = [threading.Thread(target=accept) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(ends) == ["accepted", "not_found"]
    assert Membership.objects.count() == 1
