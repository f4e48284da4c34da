"""Headers of every response, and CSRF tokens of every unsafe request."""

import re
import uuid
from contextlib import closing
from itertools import product

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import Resolver404, resolve

from kebab.http.security_headers import SecurityHeaders
from kebab.identity.models import Membership, Role, User, Workspace
from tests.security.leaks.routes import routes

_VALUES = ("1" * 32, "1", str(uuid.UUID(int=1)), "x.css")
_UNSAFE = ("post", "put", "patch", "delete")
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
#: Routes at which no cookie counts: what a client sends proves all that it may.
_WITHOUT_SESSION = {"oauth-registration", "oauth-token", "oauth-revocation"}
# The routes of other interfaces, which the slow tier walks through.
_OTHERS = ("api/", "admin/")


def address_of(route):
    """Return an address that the route answers."""
    parts = re.split("<[^<>]+>", route.pattern)
    for values in product(_VALUES, repeat=len(parts) - 1):
        path = "/" + "".join(part + value for part, value in zip(parts, (*values, ""), strict=True))
        try:
            resolve(path)
        except Resolver404:
            continue
        return path
    raise LookupError(route)


def page_routes():
    return [route for route in routes() if not route.pattern.startswith(_OTHERS)]


@pytest.fixture
def operator(db):
    """Return a person whom no other check refuses."""
    user = User.objects.create_superuser("root@example.org")
    workspace = Workspace.objects.create(pk=uuid.UUID(_VALUES[0]), slug="one", name="One")
    Membership.objects.create(workspace=workspace, user=user, role=Role.OWNER)
    return user


def client_of(user, **options):
    client = Client(**options)
    client.force_login(user)
    return client


def check_headers(response):
    policy = response["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy or "sandbox" in policy
    assert "script-src 'unsafe-inline'" not in policy and "*" not in policy
    assert "camera=()" in response["Permissions-Policy"]
    for name, value in _HEADERS.items():
        assert response[name] == value, name


def check_all_headers(operator, subtests, walked):
    inside = client_of(operator)
    for route in walked:
        path = address_of(route)
        with subtests.test(path=path):
            for client in (Client(), inside):
                response = client.get(path)
                check_headers(response)
                assert "public" not in response["Cache-Control"] or not response.cookies, path


def is_refused_for_its_token(response):
    if response.get("Content-Type") == "application/problem+json":
        return response.status_code == 403 and response.json()["code"] == "csrf_failed"
    if response.get("Content-Type") == "application/json":  # of another product's API
        return response.status_code == 403 and "X-CSRFToken" in response.text
    return response.status_code == 403 and any(used.name == "403_csrf.html" for used in response.templates)


def check_all_tokens(operator, walked, methods):
    """Send unsafe requests without the token; return how many were refused for that reason."""
    client = client_of(operator, enforce_csrf_checks=True)
    taken, refused = set(), 0
    for route in walked:
        if route.name in _WITHOUT_SESSION:
            continue
        path = address_of(route)
        for method in methods:
            response = getattr(client, method)(path, {}, content_type="application/json")
            if is_refused_for_its_token(response):
                refused += 1
            elif response.status_code != 405:
                taken.add((method, route.pattern, response.status_code))

    assert taken == set()
    return refused


def test_sampled_page_has_the_security_headers(operator, subtests):
    check_all_headers(operator, subtests, page_routes()[::5])


@pytest.mark.slow
def test_every_address_tells_browsers_its_headers(operator, subtests):
    check_all_headers(operator, subtests, routes())


def test_form_of_a_session_needs_the_token(operator):
    forms = [route for route in routes() if "post" in route.methods and "api/" not in route.pattern]
    samples = [route for route in routes() if route.pattern.startswith("api/") and "post" in route.methods]

    assert check_all_tokens(operator, forms + samples[::8], ("post",)) > 50


@pytest.mark.slow
def test_unsafe_request_of_a_session_needs_the_token(operator):
    assert check_all_tokens(operator, routes(), _UNSAFE) > 100


def test_responses_to_signed_in_users_are_not_cached(operator):
    inside = client_of(operator)
    own = ("/", "/api/v1/workspaces", "/api/v1/workspaces/1", "/w/1/search", "/admin/", "/password/change")
    for path in own:
        assert re.search("no-store|private", inside.get(path)["Cache-Control"]), path


def test_files_refusals_and_errors_have_the_headers(client, db, monkeypatch, settings):
    answers = {"/static/kebab/base.css": 200, "/static/missing.css": 404, "/missing": 404, "/logout": 405}
    for path, status in answers.items():
        with closing(client.get(path)) as response:
            assert response.status_code == status
            check_headers(response)
    wrong_host = Client(headers={"host": "evil.example"}).get("/login")
    assert wrong_host.status_code == 400
    check_headers(wrong_host)
    client.raise_request_exception = False
    monkeypatch.setattr("kebab.accounts.views.SignIn.get_context_data", lambda *_: 1 / 0)
    broken = client.get("/login")
    assert broken.status_code == 500
    check_headers(broken)
    settings.SECURE_SSL_REDIRECT = True
    redirect = Client().get("/login")

    assert redirect.status_code == 301
    check_headers(redirect)


def policy_of(response):
    return dict(part.split(" ", 1) for part in response["Content-Security-Policy"].split("; "))


def test_policy_lets_nothing_run_but_the_own_scripts(client, db):
    for page in ("/login", "/missing", "/healthz", "/admin/login/", "/api/v1/missing"):
        policy = policy_of(client.get(page))
        assert policy["default-src"] == policy["form-action"] == "'self'", page
        assert policy["frame-ancestors"] == "'none'", page
        assert not any("unsafe" in sources for sources in policy.values()), page
    docs = client.get("/api/docs/")  # may have styles inline, but no scripts

    assert "script-src" not in policy_of(docs)
    assert policy_of(docs)["default-src"] == "'self'"
    assert "<script>" not in docs.content.decode()


def test_view_keeps_its_own_policy(rf):
    own = HttpResponse(headers={"Content-Security-Policy": "default-src 'none'; sandbox"})

    assert SecurityHeaders(lambda request: own)(rf.get("/"))["Content-Security-Policy"].endswith("sandbox")


def test_pages_carry_no_inline_script_or_style_and_load_nothing_from_elsewhere(operator):
    inside = client_of(operator)
    for page in ("/w/one/search?q=deploy", "/w/one/upload", "/w/one/settings", "/missing"):
        text = inside.get(page, follow=True).content.decode()
        assert not re.search(r'<style|\sstyle=|\son\w+=|javascript:|<script(?! (type="module" )?src=)', text)
        assert all(address.startswith("/") for address in re.findall(r'\b(?:src|action)="([^"]*)"', text))


def test_files_of_the_pages_are_served(client, db):
    for name in ("kebab/base.css", "kebab/frame.js", "kebab/kebab.svg", "django_htmx/htmx-2.min.js"):
        with closing(client.get(f"/static/{name}")) as response:
            assert response.status_code == 200
    assert client.get("/favicon.ico").status_code == 302


def test_malformed_session_cookie_is_anonymous(client, db, subtests):
    cookies = ('"\\000' + "a" * 31 + '"', '"\\355\\240\\200' + "a" * 31 + '"', "A" * 32, "a" * 9_000, "a", "")
    statuses = {"/": 302, "/login": 200, "/admin/": 302, "/api/v1/workspaces": 401}
    for cookie, (path, status) in product(cookies, statuses.items()):
        with subtests.test(cookie=cookie[:8], path=path):
            response = client.get(path, headers={"Cookie": f"sessionid={cookie}"})
            assert response.status_code == status
