"""The profile page: language, time zone and theme of a person, and their other sessions."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from kebab.accounts.forms import TIME_ZONES
from kebab.identity.models import User
from kebab.identity.tokens import mint_personal_token

FIELDS = {"display_name": "Ada", "language": "de", "time_zone": "Asia/Tokyo", "theme": "dark"}


@pytest.fixture
def ada(db):
    return User.objects.create_user("ada@example.org", "correct horse 7")


def test_saved_preferences_apply_to_the_next_page(client, ada):
    client.force_login(ada)
    assert client.post("/profile", FIELDS).status_code == 302
    page = client.get("/profile", headers={"accept-language": "fr"})

    ada.refresh_from_db()
    assert (ada.display_name, ada.language, ada.time_zone, ada.theme) == ("Ada", "de", "Asia/Tokyo", "dark")
    assert page["Content-Language"] == "de"
    assert 'data-theme="dark"' in page.content.decode()


def test_unknown_preferences_are_refused_and_the_browsers_language_is_the_default(client, ada):
    client.force_login(ada)
    for name in ("language", "time_zone", "theme"):
        assert client.post("/profile", FIELDS | {name: "no/where"}).status_code == 400
    assert (
        client.post("/profile/theme", {"theme": "pink"}, headers={"referer": "//evil.example"}).url
        == "/profile"
    )
    ada.refresh_from_db()

    assert (ada.language, ada.time_zone, ada.theme) == ("", "", "")
    assert client.get("/profile", headers={"accept-language": "fr"})["Content-Language"] == "fr"


def test_only_time_zones_of_places_are_offered():
    assert {"UTC", "Europe/Berlin", "America/Argentina/Salta"} <= TIME_ZONES
    assert TIME_ZONES.isdisjoint({"Factory", "W-SU", "localtime", "GB-Eire", "Etc/GMT+5"})


def test_only_the_other_sessions_of_the_person_end(client, ada):
    here, there, other = client, Client(), Client()
    for browser in (here, there):
        browser.force_login(ada)
    other.force_login(User.objects.create_user("bob@example.org"))

    assert here.post("/profile/sessions").url == "/profile"
    assert [browser.get("/profile").status_code for browser in (here, there, other)] == [200, 302, 200]


def test_every_personal_token_that_works_is_listed(client, ada):
    tokens = [mint_personal_token(ada, name=f"tool {n}", scopes=["search"])[0] for n in range(25)]
    expired, revoked = tokens[3:5]
    expired.expires_at = timezone.now() - timedelta(days=1)
    revoked.revoked_at = timezone.now()
    for token in (expired, revoked):
        token.save()
    client.force_login(ada)
    page = client.get("/profile").content.decode()
    assert {token.prefix for token in tokens if token.prefix in page} == {
        token.prefix for token in tokens if token not in (expired, revoked)
    }
