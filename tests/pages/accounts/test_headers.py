"""What every response says to browsers."""

import re
from contextlib import closing

import pytest
from django.test import Client

from kebab.people.models import User
from tests.pages.accounts.test_every_form_is_protected import address_of, operator  # noqa: F401
from tests.security.leaks.routes import routes

SAID = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def check_headers(response):
    policy = response["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy or "sandbox" in policy
    assert "script-src 'unsafe-inline'" not in policy and "*" not in policy
    assert "camera=()" in response["Permissions-Policy"]
    for name, value in SAID.items():
        assert response[name] == value, name


def test_every_address_says_them_to_strangers_and_operators(operator):  # noqa: F811
    inside = Client()
    inside.force_login(operator)
    for route in routes():
        path = address_of(route)
        for client in (Client(), inside):
            response = client.get(path)
            check_headers(response)
            assert "public" not in response["Cache-Control"] or not response.cookies, path


def test_what_who_has_signed_in_is_told_is_kept_nowhere(operator):  # noqa: F811
    inside = Client()
    inside.force_login(operator)
    for path in (
        "/",
        "/api/v1/workspaces",
        "/api/v1/workspaces/1",
        "/w/1/search",
        "/admin/",
        "/password/change",
    ):
        response = inside.get(path)
        assert re.search("no-store|private", response["Cache-Control"]), path


@pytest.mark.parametrize(
    ("path", "status"),
    [("/static/kebab/site.css", 200), ("/static/missing.css", 404), ("/missing", 404), ("/logout", 405)],
)
def test_files_and_refusals_say_them_too(client, db, path, status):
    with closing(client.get(path)) as response:
        assert response.status_code == status
        check_headers(response)


def test_an_error_page_says_them_too(client, db, monkeypatch):
    client.raise_request_exception = False
    monkeypatch.setattr("kebab.accounts.views.SignIn.get_context_data", lambda *_: 1 / 0)
    response = client.get("/login")

    assert response.status_code == 500
    check_headers(response)


def test_the_redirect_to_https_says_them_too(client, settings):
    settings.SECURE_SSL_REDIRECT = True
    response = Client().get("/login")

    assert response.status_code == 301
    check_headers(response)


def test_a_wrong_host_is_told_them_too(db):
    response = Client(headers={"host": "evil.example"}).get("/login")

    assert response.status_code == 400
    check_headers(response)
    assert not User.objects.exists()
