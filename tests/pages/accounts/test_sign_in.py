"""Signing in and out: sessions, redirects and the audit log."""

import re
from unittest.mock import patch

import pytest
from django.contrib.auth import get_user
from django.contrib.auth.hashers import check_password, identify_hasher, make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.test import Client

from kebab.identity.models import AuditEvent, User
from tests.pages.accounts.people import OTHER_PASSWORD, PASSWORD, is_signed_in, sign_in

pytestmark = pytest.mark.django_db


def test_the_session_has_a_new_key_after_signing_in(visitor, ada):
    session = visitor.session
    session["seen"] = 1
    session.save()
    before = session.session_key
    visitor.cookies["sessionid"] = before

    sign_in(visitor)

    assert is_signed_in(visitor)
    assert visitor.cookies["sessionid"].value != before
    assert not Client().session.exists(before)


def test_signing_in_leads_to_no_other_site(visitor, ada, subtests):
    for place in (
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "javascript:alert(1)",
        "http:///evil.example",
        "https://testserver@evil.example/",
        "http://testserver.evil.example/",
        "\x00//evil.example",
    ):
        form = {"username": ada.email, "password": PASSWORD}
        with subtests.test(place=place):
            assert visitor.post("/login", {**form, "next": place})["Location"] == "/"
            assert visitor.post("/login", form, query_params={"next": place})["Location"] == "/"


def test_logging_in_leads_to_the_page_that_was_asked_for(visitor, ada):
    assert sign_in(visitor, "Ada@Example.org", next="/w/handbook/search")["Location"] == "/w/handbook/search"
    assert get_user(visitor) == ada
    # Who has logged in is sent on.
    assert visitor.get("/login", {"next": "/w/handbook/search"})["Location"] == "/w/handbook/search"
    assert visitor.get("/login", {"next": "https://evil.example"})["Location"] == "/"
    assert visitor.get("/login", {"next": "/login"}, follow=True).status_code == 200
    assert visitor.get("/login", {"next": "relative"})["Location"] == "relative"


def test_failed_login_keeps_the_address_escaped_and_needs_its_token(visitor, db):
    page = sign_in(visitor, 'ada"><b>@example.org', "wrong").content.decode()
    assert "ada&quot;&gt;&lt;b&gt;@example.org" in page

    refused = sign_in(Client(enforce_csrf_checks=True), "a@b.c", "x")
    assert refused.status_code == 403
    assert "403_csrf.html" in [used.name for used in refused.templates]


def test_logging_out_takes_a_click_not_a_link(visitor, ada):
    sign_in(visitor)
    assert visitor.get("/logout").status_code == 405
    assert visitor.post("/logout")["Location"] == "/login"
    assert not is_signed_in(visitor)


def test_a_deactivated_person_is_out_at_once_and_signs_in_again_when_back(visitor, ada):
    sign_in(visitor)
    ada.is_active = False
    ada.save()

    assert not is_signed_in(visitor)
    assert visitor.get("/api/v1/workspaces").status_code == 401
    assert sign_in(Client()).status_code == 200
    visitor.get("/")
    ada.is_active = True
    ada.save()
    assert not is_signed_in(visitor)


def test_sign_ins_are_audited_with_the_address_without_the_password(visitor, ada, acts, address):
    sign_in(visitor, password="wrong wrong wrong")
    visitor.post("/password/reset", {"email": "kbb_abcdefghijkl@example.org"})
    sign_in(visitor)
    visitor.post("/logout")

    assert acts() == [
        ("sign_in.failed", ada.email, address),
        ("password.reset_asked", "kbb_abcdefghijkl@example.org", address),
        ("sign_in.succeeded", ada.email, address),
        ("sign_out", ada.email, address),
    ]
    actors = AuditEvent.objects.order_by("at").values_list("actor", flat=True)
    assert list(actors) == ["nobody", "nobody", ada.email, ada.email]


def test_only_text_in_the_form_of_an_address_is_audited(visitor, subtests):
    for typed in ("p@ssword of mine", "operator:root@ship", "kbb_abcdefghijkl", "@", "a@b", PASSWORD):
        with subtests.test(typed=typed):
            sign_in(visitor, typed)
            event = AuditEvent.objects.latest("at")
            assert (event.actor, event.subject) == ("nobody", "no address")
    written = AuditEvent.objects.count()
    for email in ("x" * 254, "ädä@example.org", "a\x00b@example.org", "ﬀ@example.org"):
        assert sign_in(visitor, email).status_code == 200
    assert AuditEvent.objects.count() == written + 3  # one with a NUL was never tried


def test_refusal_costs_and_looks_the_same_whoever_is_named(visitor, ada):
    User.objects.create_user("gone@example.org", PASSWORD, is_active=False)
    User.objects.create_user("sso@example.org", None)
    pages = set()
    for email in (ada.email, "nobody@example.org", "gone@example.org", "sso@example.org"):
        with patch(
            "django.contrib.auth.hashers.MD5PasswordHasher.encode", autospec=True, return_value="x"
        ) as encode:
            page = sign_in(visitor, email, "wrong wrong wrong")
        assert encode.call_count == 1, email
        shown = re.sub('name="csrfmiddlewaretoken" value="[^"]*"', "", page.content.decode())
        pages.add((page.status_code, shown.replace(email, "")))

    assert len(pages) == 1
    assert 'role="alert"' in pages.pop()[1]


def test_passwords_are_hashed_with_argon2_and_older_ones_upgraded_when_used(visitor, ada, settings):
    settings.PASSWORD_HASHERS = settings.PASSWORD_HASHERS[1:]
    hashed = make_password(PASSWORD)
    assert hashed.startswith("argon2$argon2id$v=19$m=19456,t=2,p=1$")
    assert check_password(PASSWORD, hashed)
    ada.password = make_password(PASSWORD, hasher="pbkdf2_sha256")
    ada.save()

    sign_in(visitor)

    ada.refresh_from_db()
    assert is_signed_in(visitor)
    assert identify_hasher(ada.password).algorithm == "argon2"


def change_password(client, old=PASSWORD, new=OTHER_PASSWORD):
    form = {"old_password": old, "new_password1": new, "new_password2": new}
    return client.post("/password/change", form)


def test_password_of_more_than_256_characters_is_refused_unlooked_at(visitor, ada):
    huge = "x" + "1" * 499_000 + "x"
    for password in ("long" * 64 + "!", huge):
        with pytest.raises(ValidationError) as refusal:
            validate_password(password)
        assert [error.code for error in refusal.value.error_list] == ["password_too_long"]
    sign_in(visitor)
    assert "256" in change_password(visitor, new=huge).content.decode()
    with patch("kebab.accounts.forms.authenticate_by_password") as tried:
        assert "256" in change_password(visitor, old=huge).content.decode()
        assert sign_in(Client(), password=huge).status_code == 200
    tried.assert_not_called()
    longest = ("ebb tide, lantern over water; " * 9)[:256].replace("tide", "Tide", 1)
    change_password(visitor, new=longest)

    assert sign_in(Client(), password=longest).status_code == 302


def test_password_change_is_undone_when_its_audit_event_fails(visitor, ada):
    sign_in(visitor)
    with (
        patch("kebab.accounts.audit.record", side_effect=ConnectionError),
        pytest.raises(ConnectionError),
    ):
        change_password(visitor)

    ada.refresh_from_db()
    assert ada.check_password(PASSWORD)


def test_changed_password_ends_the_other_sessions(visitor, ada, acts):
    assert visitor.get("/password/change")["Location"] == "/login?next=/password/change"
    elsewhere = Client()
    sign_in(visitor)
    sign_in(elsewhere)
    before = visitor.cookies["sessionid"].value

    answer = change_password(visitor)

    assert (answer.status_code, answer["Location"]) == (302, "/password/change")
    assert is_signed_in(visitor)
    assert visitor.cookies["sessionid"].value != before
    assert not is_signed_in(elsewhere)
    assert acts()[-1][0] == "password.changed"
    assert 'role="status"' in visitor.get(answer["Location"]).content.decode()


def test_person_without_a_password_cannot_change_it(visitor, ada, acts):
    ada.set_unusable_password()
    ada.save()
    visitor.force_login(ada)

    assert "/password/change" not in visitor.get("/", follow=True).content.decode()
    for answer in (visitor.get("/password/change"), change_password(visitor)):
        assert (answer.status_code, answer["Location"]) == (302, "/")
    assert acts() == []


def test_weak_password_and_wrong_old_one_change_nothing(visitor, ada, subtests):
    sign_in(visitor)
    weak = ("elevenchars", "123456789012", "2026Password!!", "ada@example.org", "passwordpassword")
    cases = [("new_password2", {"new": password}) for password in weak]
    for field, asked in [*cases, ("old_password", {"old": "wrong wrong wrong"})]:
        with subtests.test(**asked):
            page = change_password(visitor, **asked)
            assert page.status_code == 200
            assert set(page.context["form"].errors) == {field}
            ada.refresh_from_db()
            assert ada.check_password(PASSWORD)


def test_session_cookie_is_out_of_reach_of_scripts_and_other_sites(ada, settings):
    for secure in (False, True):
        settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = secure
        token = Client().get("/login").cookies["csrftoken"]
        assert (token["samesite"], bool(token["secure"])) == ("Lax", secure)

        cookie = sign_in(Client()).cookies["sessionid"]

        assert (cookie["httponly"], cookie["samesite"], bool(cookie["secure"])) == (True, "Lax", secure)
