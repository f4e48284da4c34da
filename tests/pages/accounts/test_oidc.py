"""Sign-in through an OpenID Connect provider of the tests."""

from functools import partial
from itertools import product
from threading import Barrier

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.contrib.auth import get_user
from django.contrib.auth.models import Permission
from django.test import Client

from kebab.accounts import oidc
from kebab.identity.models import AuditEvent, Role, User
from kebab.people.invitations import invite, withdraw_invitation
from kebab.people.operator import command_line_access
from tests.pages.accounts.people import PASSWORD, is_signed_in, sign_in
from tests.pages.accounts.provider import CLIENT_ID, CLIENT_SECRET, running_provider
from tests.support.concurrency import at_once

pytestmark = pytest.mark.django_db

#: The name of the admin's button that undoes a link.
_UNLINK = "people_user_unlink"


@pytest.fixture
def provider(settings):
    with running_provider() as provider:
        settings.KEBAB_OIDC_ISSUER = provider.issuer
        settings.KEBAB_OIDC_CLIENT_ID, settings.KEBAB_OIDC_CLIENT_SECRET = CLIENT_ID, CLIENT_SECRET
        settings.KEBAB_OIDC_NAME = "Harbour ID"
        yield provider


def return_from_provider(client, provider, **query):
    """Go to the provider and return with its response."""
    sent = client.get("/login/oidc", query)
    assert sent.status_code == 302, sent.content
    return client.get("/login/oidc/callback", provider.approve(sent["Location"]))


def check_refused(client, response, status=403):
    assert response.status_code == status
    assert "Kebab</title>" in response.content.decode()  # a page of ours
    assert not is_signed_in(client)


def test_login_page_has_a_button_where_there_is_a_provider(visitor, provider, settings):
    page = visitor.get("/login", {"next": "/w/a/search?q=b&mode=c"}).content.decode()
    assert "Harbour ID" in page
    assert 'href="/login/oidc?next=%2Fw%2Fa%2Fsearch%3Fq%3Db%26mode%3Dc"' in page

    settings.KEBAB_OIDC_ISSUER = ""
    assert "/login/oidc" not in visitor.get("/login").content.decode()
    assert visitor.get("/login/oidc").status_code == 404
    assert visitor.get("/login/oidc/callback", {"code": "x", "state": "y"}).status_code == 404


def test_a_known_person_comes_in_and_is_known_again(visitor, ada, provider, acts, address):
    response = return_from_provider(visitor, provider, next="/w/handbook/search")

    assert response["Location"] == "/w/handbook/search"
    assert get_user(visitor) == ada
    assert acts() == [("account.linked", ada.email, address), ("sign_in.succeeded", ada.email, address)]

    provider.claims["email"] = "ada.new@example.org"  # the subject counts, once it is linked
    again = Client()
    return_from_provider(again, provider)
    assert get_user(again) == ada


def test_linking_keeps_the_password_of_a_verified_address(visitor, ada, provider):
    ada.prove_email()
    elsewhere = Client()
    sign_in(elsewhere)
    return_from_provider(visitor, provider)

    assert User.objects.get(pk=ada.pk).check_password(PASSWORD)
    assert is_signed_in(elsewhere)
    assert AuditEvent.objects.get(action="account.linked").detail["password_ended"] is False


def test_linking_an_unverified_account_ends_its_password_and_sessions(visitor, ada, provider):
    thief = Client()
    sign_in(thief)
    assert is_signed_in(thief)
    return_from_provider(visitor, provider)

    assert get_user(visitor) == ada
    assert not is_signed_in(thief)
    assert sign_in(thief).status_code == 200
    assert not is_signed_in(thief)
    assert AuditEvent.objects.get(action="account.linked").detail["password_ended"] is True
    ada.refresh_from_db()
    assert ada.has_proved_email


def test_an_invited_person_comes_in_and_can_join_unless_the_invitation_is_withdrawn(
    visitor, provider, workspace
):
    operator = command_line_access(workspace)
    provider.claims["email"] = "neu@example.org"
    withdrawn = invite(operator, "neu@example.org", Role.EDITOR)
    withdraw_invitation(operator, withdrawn.invitation.pk)
    check_refused(visitor, return_from_provider(visitor, provider))
    assert not User.objects.filter(email="neu@example.org").exists()

    visitor.get(invite(operator, "neu@example.org", Role.EDITOR).path)
    return_from_provider(visitor, provider, next="/invitation")
    assert get_user(visitor).email == "neu@example.org"
    assert visitor.post("/invitation")["Location"] == "/w/handbook/search"
    assert AuditEvent.objects.filter(action="account.created", detail__by="oidc").count() == 1


@pytest.mark.django_db(transaction=True)
def test_concurrent_first_sign_ins_create_one_account(provider, settings, monkeypatch):
    settings.KEBAB_OIDC_SIGNUP = True
    provider.claims["email"] = "neu@example.org"
    clients, both_are_here = [Client(), Client()], Barrier(2, timeout=30)
    parameters = [provider.approve(client.get("/login/oidc")["Location"]) for client in clients]
    verified_email = oidc._verified_email

    def wait_for_the_other(sociallogin):
        both_are_here.wait()
        return verified_email(sociallogin)

    monkeypatch.setattr(oidc, "_verified_email", wait_for_the_other)
    ways = zip(clients, parameters, strict=True)
    answers = at_once([partial(client.get, "/login/oidc/callback", query) for client, query in ways])

    assert [answer.status_code for answer in answers] == [302, 302]
    user = User.objects.get(email="neu@example.org")
    assert [get_user(client) for client in clients] == [user, user]
    assert user.socialaccount_set.count() == 1


def test_an_operator_can_undo_a_link(visitor, ada, provider, acts):
    return_from_provider(Client(), provider)
    provider.claims["sub"] = "8"  # made anew over there
    check_refused(visitor, return_from_provider(visitor, provider))
    office = Client()
    office.force_login(User.objects.create_superuser("root@example.org"))
    address = f"/admin/people/user/{ada.pk}/change/"
    assert _UNLINK in office.get(address).content.decode()
    elsewhere = Client()
    elsewhere.force_login(User.objects.get(pk=ada.pk))
    assert is_signed_in(elsewhere)
    office.post(address, {"email": ada.email, "is_active": "on", _UNLINK: ""})

    assert not is_signed_in(elsewhere)
    assert _UNLINK not in office.get(address).content.decode()
    event = AuditEvent.objects.get(action="account.unlinked")
    assert (event.actor, event.subject) == ("root@example.org", ada.email)
    return_from_provider(visitor, provider)
    assert get_user(visitor) == ada


def test_staff_do_not_unlink_an_operator(provider):
    root = User.objects.create_superuser("ada@example.org")
    return_from_provider(Client(), provider)
    clerk = User.objects.create_user("clerk@example.org", is_staff=True)
    clerk.user_permissions.set(
        Permission.objects.filter(codename__in=("change_user", "view_user"), content_type__app_label="people")
    )
    office = Client()
    office.force_login(clerk)
    address = f"/admin/people/user/{root.pk}/change/"
    assert _UNLINK not in office.get(address).content.decode()
    answer = office.post(address, {"email": root.email, "is_active": "on", _UNLINK: ""})

    assert answer.status_code == 403
    assert root.socialaccount_set.exists()
    assert not AuditEvent.objects.filter(action="account.unlinked").exists()


def test_the_session_has_a_new_key_and_leads_to_no_other_site(visitor, ada, provider):
    sent = visitor.get("/login/oidc")
    before = visitor.cookies["sessionid"].value
    visitor.get("/login/oidc/callback", provider.approve(sent["Location"]))

    assert visitor.cookies["sessionid"].value != before
    assert not Client().session.exists(before)
    for place in ("https://evil.example/", "//evil.example", "javascript:alert(1)"):
        assert return_from_provider(Client(), provider, next=place)["Location"] == "/", place


def test_address_that_the_provider_has_not_verified_links_nothing(visitor, ada, provider, subtests):
    for verified in (False, None, "false", 1, "yes"):
        with subtests.test(verified=verified):
            provider.claims["email_verified"] = verified
            check_refused(visitor, return_from_provider(visitor, provider))
            assert not ada.socialaccount_set.exists()


def test_an_unknown_person_is_refused_without_a_row(visitor, provider, acts):
    provider.claims["email"] = "nobody@example.org"
    check_refused(visitor, return_from_provider(visitor, provider))

    assert not User.objects.exists()
    assert [act for act, *_ in acts()] == ["sign_in.failed"]


def test_unknown_people_get_an_account_when_that_is_switched_on(visitor, provider, settings):
    settings.KEBAB_OIDC_SIGNUP = True
    provider.claims |= {"email": "Neu@Example.org", "given_name": "Neu", "family_name": "Mann"}
    return_from_provider(visitor, provider)
    user = get_user(visitor)

    assert (user.email, user.display_name) == ("neu@example.org", "Neu Mann")
    assert not user.has_usable_password()
    assert not user.is_staff


def test_equal_subject_of_another_issuer_is_a_different_person(visitor, ada, provider, settings):
    return_from_provider(Client(), provider)
    with running_provider() as other:
        settings.KEBAB_OIDC_ISSUER = other.issuer
        other.claims["email"] = "eve@example.org"
        check_refused(visitor, return_from_provider(visitor, other))
        other.claims["email"] = ada.email
        return_from_provider(visitor, other)

    assert get_user(visitor) == ada


def test_inactive_person_is_neither_linked_nor_let_in(visitor, ada, provider):
    User.objects.update(is_active=False)
    check_refused(visitor, return_from_provider(visitor, provider))
    assert not ada.socialaccount_set.exists()
    User.objects.update(is_active=True)
    return_from_provider(Client(), provider)
    User.objects.update(is_active=False)

    check_refused(visitor, return_from_provider(visitor, provider))


def test_id_token_for_another_use_or_signed_otherwise_is_refused(visitor, ada, provider, subtests):
    for forged in (
        {"iss": "https://evil.example"},
        {"aud": "another client"},
        {"exp": 1_000_000_000},
        {"sub": None},
        {"aud": None},
        {"exp": None},
    ):
        with subtests.test(forged=forged):
            provider.forged = forged
            check_refused(visitor, return_from_provider(visitor, provider), status=400)
    provider.forged, own_key = {}, provider.signing_key
    other_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    for algorithm, key in (("none", own_key), ("HS256", own_key), ("RS512", other_key), ("RS256", other_key)):
        with subtests.test(algorithm=algorithm):
            provider.signing_key, provider.algorithm = key, algorithm
            check_refused(visitor, return_from_provider(visitor, provider), status=400)


def test_the_user_info_is_asked_for_a_missing_address_and_must_mean_the_same_person(visitor, ada, provider):
    provider.claims = {"sub": "7"}
    provider.user_info = {"sub": "8", "email": ada.email, "email_verified": True}
    check_refused(visitor, return_from_provider(visitor, provider), status=400)

    provider.user_info["sub"] = "7"
    return_from_provider(visitor, provider)
    assert get_user(visitor) == ada


def test_oidc_callback_works_once_and_only_in_its_own_session(visitor, ada, provider):
    sent = Client().get("/login/oidc")
    response = visitor.get("/login/oidc/callback", provider.approve(sent["Location"]))
    check_refused(visitor, response, status=400)
    assert provider.token_requests == 0

    answer = provider.approve(visitor.get("/login/oidc")["Location"])
    challenges, provider.challenges = provider.challenges, dict.fromkeys(provider.challenges, "another")
    check_refused(visitor, visitor.get("/login/oidc/callback", answer), status=400)

    provider.challenges = challenges
    answer = provider.approve(visitor.get("/login/oidc")["Location"])
    visitor.get("/login/oidc/callback", answer)
    assert is_signed_in(visitor)
    visitor.post("/logout")
    check_refused(visitor, visitor.get("/login/oidc/callback", answer), status=400)


def test_cancelled_or_unreachable_provider_shows_an_error_page(visitor, ada, provider, settings):
    state = provider.approve(visitor.get("/login/oidc")["Location"])["state"]
    response = visitor.get("/login/oidc/callback", {"error": "access_denied", "state": state})
    check_refused(visitor, response, status=400)

    settings.KEBAB_OIDC_ISSUER = "http://127.0.0.1:1"
    check_refused(visitor, visitor.get("/login/oidc"), status=502)


def test_provider_out_of_order_leads_to_a_page(visitor, ada, provider, subtests):
    answers = ((500, b"{}"), (200, b"not json"), (200, b"{}"), (200, b"[]"))
    for path, answer in product(("/token", "/keys", "/.well-known/openid-configuration"), answers):
        with subtests.test(path=path, answer=answer):
            provider.broken = {}
            if path.startswith("/.well-known"):
                provider.broken = {path: answer}
                response = visitor.get("/login/oidc")
            else:
                way = provider.approve(visitor.get("/login/oidc")["Location"])
                provider.broken = {path: answer}
                response = visitor.get("/login/oidc/callback", way)

            assert response.status_code in (400, 502)
            check_refused(visitor, response, status=response.status_code)


def test_cross_site_request_cannot_start_oidc_login(visitor, provider):
    response = visitor.get("/login/oidc", headers={"Sec-Fetch-Site": "cross-site"})

    assert response["Location"] == "/login"


def test_session_of_another_person_is_replaced_by_the_providers_person(visitor, ada, provider):
    User.objects.create_user("eve@example.org", PASSWORD)
    sign_in(visitor, "eve@example.org")
    return_from_provider(visitor, provider)

    assert get_user(visitor) == ada
