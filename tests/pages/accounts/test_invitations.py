"""Acceptance of an invitation through its link."""

import pytest
from django.test import Client

from kebab.identity.caller import Caller, member_access, readable_memberships
from kebab.identity.models import Membership, Role, User
from kebab.people.invitations import find_invitation, invite, withdraw_invitation
from tests.pages.accounts.people import PASSWORD, is_signed_in, sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def access(owner):
    return member_access(Caller(user=owner), readable_memberships(owner).get())


@pytest.fixture
def invitation(access):
    return invite(access, "ada@example.org", Role.EDITOR)


def join(client, password=PASSWORD, again=None, name="Ada L."):
    form = {"display_name": name, "new_password1": password, "new_password2": again or password}
    return client.post("/invitation", form)


def roles_of(email):
    return list(Membership.objects.filter(user__email=email).values_list("role", flat=True))


def test_opening_an_invitation_removes_its_secret_from_the_url(visitor, access, workspace):
    workspace.name = "<script>alert(1)</script>"
    workspace.save()
    access.workspace.refresh_from_db()
    invited = invite(access, "ada@example.org", Role.EDITOR)
    response = visitor.get(invited.path)
    cookie = response.cookies["kebab_invitation"]

    assert response["Location"] == "/invitation"
    assert cookie["httponly"] and cookie["samesite"] == "Lax" and cookie["path"] == "/invitation"
    assert "no-store" in response["Cache-Control"]
    assert response["Referrer-Policy"] == "same-origin"
    page = visitor.get("/invitation").content.decode()
    assert "&lt;script&gt;alert(1)" in page and "<script>alert" not in page
    assert "olga@example.org" in page
    assert invited.secret not in page
    assert roles_of("ada@example.org") == []


def test_person_without_an_account_gets_one_and_joins(visitor, invitation, acts, address):
    visitor.get(invitation.path)
    response = join(visitor)

    assert response["Location"] == "/w/handbook/search"
    assert response.cookies["kebab_invitation"]["max-age"] == 0
    assert is_signed_in(visitor)
    assert roles_of("ada@example.org") == [Role.EDITOR]
    other = Client()  # the link works once
    assert other.get(invitation.path, follow=True).status_code == 404
    assert join(other).status_code == 404
    assert User.objects.get(email="ada@example.org").display_name == "Ada L."
    assert acts()[-3:] == [
        ("account.created", "ada@example.org", address),
        ("invitation.accepted", "ada@example.org", address),
        ("sign_in.succeeded", "ada@example.org", address),
    ]


def test_account_is_not_created_when_its_audit_event_fails(visitor, invitation, monkeypatch):
    def fail(actor, action, *_, **__):
        raise ConnectionError(action)

    visitor.get(invitation.path)
    monkeypatch.setattr("kebab.people.audit.record_person", fail)
    with pytest.raises(ConnectionError, match=r"account\.created"):
        join(visitor)

    assert not User.objects.filter(email="ada@example.org").exists()
    assert find_invitation(invitation.secret) is not None


def test_bad_password_is_refused_without_effect(visitor, invitation):
    visitor.get(invitation.path)
    for password, again in (("short", None), ("ada@example.org", None), (PASSWORD, "another password")):
        answer = join(visitor, password, again)

        assert set(answer.context["form"].errors) == {"new_password2"}, password
        assert 'value="Ada L."' in answer.content.decode()
        assert not User.objects.filter(email="ada@example.org").exists()


def test_person_with_an_account_must_sign_in_first(visitor, ada, invitation):
    page = visitor.get(invitation.path, follow=True).content.decode()
    assert 'href="/login?next=/invitation"' in page
    assert 'type="password"' not in page
    join(visitor, password="a password of the guest")
    assert User.objects.get(pk=ada.pk).check_password(PASSWORD)
    assert roles_of(ada.email) == []

    assert sign_in(visitor, next="/invitation")["Location"] == "/invitation"
    assert visitor.post("/invitation")["Location"] == "/w/handbook/search"
    assert roles_of(ada.email) == [Role.EDITOR]


def test_somebody_else_can_not_accept(visitor, invitation):
    User.objects.create_user("eve@example.org", PASSWORD)
    sign_in(visitor, "eve@example.org")
    visitor.get(invitation.path)

    assert "eve@example.org" in join(visitor).content.decode()
    assert roles_of("eve@example.org") == roles_of("ada@example.org") == []


def test_withdrawn_invitation_is_answered_like_an_unknown_one(visitor, access, invitation):
    visitor.get(invitation.path)
    withdraw_invitation(access, invitation.invitation.pk)
    gone = visitor.get("/invitation")
    never = Client().get("/invitation")

    assert gone.status_code == never.status_code == 404
    assert gone.content == never.content
