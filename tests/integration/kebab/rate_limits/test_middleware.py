from unittest.mock import patch

import pytest
from django.contrib.auth import get_user
from django.test import Client
from rest_framework.test import APIClient

from kebab.http.rate_limits.rules import Limiter
from kebab.identity.models import Role, User
from kebab.identity.tokens import mint_token
from tests.support.actors import make_member, make_workspace

pytestmark = pytest.mark.django_db

PASSWORD, WRONG = "ebb tide at four", "wrong wrong wrong"
BAD_TOKEN = "kbb_abcdefghijkl_" + "x" * 43


def ask(address, token, path="/api/v1/workspaces"):
    client = APIClient(REMOTE_ADDR=address)
    return client.get(path, headers={"Authorization": f"Bearer {token}"})


def good_token(workspace=None):
    return mint_token(workspace or make_workspace(), scopes=["search"])[1]


def person(address, **options):
    client = Client(REMOTE_ADDR=address, **options)
    client.force_login(make_member(make_workspace(), Role.VIEWER))
    return client


def assert_refused(response):
    assert response.status_code == 429
    assert response["Content-Type"] == "application/problem+json"
    assert response.json()["code"] == "rate_limited"
    assert 0 < int(response["Retry-After"]) <= 120


def test_bad_tokens_of_an_address_are_limited_and_good_ones_from_there_work(settings, address):
    settings.KEBAB_BAD_TOKEN_LIMIT = "3/minute"
    assert [ask(address, bad).status_code for bad in (BAD_TOKEN, "nonsense", "é")] == [401, 401, 401]
    assert_refused(ask(address, BAD_TOKEN))
    assert ask(address, good_token()).status_code == 200
    assert_refused(ask(address, BAD_TOKEN))
    other = address.replace("198.", "2001:db8:").replace(".", ":") + "::1"
    assert ask(other, BAD_TOKEN).status_code == 401


def test_requests_are_limited_per_token(settings, address):
    settings.KEBAB_RATE_LIMIT = "3/minute"
    workspace = make_workspace()
    one, other = good_token(workspace), good_token(workspace)
    assert [ask(address, one).status_code for _ in range(3)] == [200] * 3
    assert_refused(ask(address, one))
    assert_refused(ask(address, one, "/api/v1/workspaces/missing/documents"))
    assert ask(address, other).status_code == 200


def test_response_has_rate_limit_headers(settings, address):
    settings.KEBAB_RATE_LIMIT = "3/minute"
    token = good_token()
    for left in (2, 1, 0):
        answer = ask(address, token)
        assert answer["RateLimit-Limit"] == "3, 3;w=60"
        assert (answer["RateLimit-Remaining"], answer["RateLimit-Reset"]) == (str(left), "60")
    refused = ask(address, token)
    assert_refused(refused)
    assert refused["RateLimit-Remaining"] == "0"
    assert "RateLimit-Limit" not in ask(address, BAD_TOKEN)


def test_pages_and_api_requests_of_a_person_count_together(settings, address):
    settings.KEBAB_RATE_LIMIT = "4/minute"
    client = person(address)
    statuses = [client.get(path).status_code for path in ("/", "/api/v1/workspaces") * 2]
    assert statuses == [302, 200, 302, 200]
    page = client.get("/")
    assert (page.status_code, int(page["Retry-After"]) > 0) == (429, True)
    assert page["Content-Type"].startswith("text/html")
    assert_refused(client.get("/api/v1/workspaces"))


def test_probes_and_static_files_are_not_counted(settings, address):
    settings.KEBAB_RATE_LIMIT = "1/minute"
    client = Client(REMOTE_ADDR=address)
    for path in ("/healthz", "/version", "/static/kebab/base.css") * 3:
        response = client.get(path)
        response.close()
        assert response.status_code == 200, path


def test_anonymous_requests_are_limited_by_address(settings, new_address, subtests):
    settings.KEBAB_RATE_LIMIT = "2/minute"
    address = new_address()
    client = Client(REMOTE_ADDR=address)
    assert [client.get("/login").status_code for _ in range(3)] == [200, 200, 429]
    assert ask(address, good_token()).status_code == 200  # a token is not held up by strangers
    for path in ("/api/schema/", "/api/docs/", "/api/v1/workspaces", "/api/v1/nowhere"):
        with subtests.test(path=path):
            client = Client(REMOTE_ADDR=new_address())
            statuses = [client.get(path).status_code for _ in range(2)]
            assert 429 not in statuses
            assert_refused(client.get(path))
            assert_refused(client.get(path, headers={"Authorization": "Basic YTpi"}))
            assert Client(REMOTE_ADDR=new_address()).get(path).status_code == statuses[0]


def test_requests_that_reach_no_view_of_the_api_are_limited_too(settings, new_address, subtests):
    settings.KEBAB_RATE_LIMIT = "2/minute"
    for path in ("/api/v1/schemas/search_hit.v1", "/api/v1/nowhere"):
        for caller in ("bad token", "good token", "person"):
            with subtests.test(path=path, caller=caller):
                address = new_address()
                client = person(address) if caller == "person" else Client(REMOTE_ADDR=address)
                token = good_token() if caller == "good token" else BAD_TOKEN
                headers = {} if caller == "person" else {"Authorization": f"Bearer {token}"}
                statuses = [client.get(path, headers=headers).status_code for _ in range(2)]
                assert 429 not in statuses
                assert_refused(client.get(path, headers=headers))


def test_post_without_its_csrf_token_is_counted(settings, address):
    settings.KEBAB_RATE_LIMIT = "2/minute"
    client = person(address, enforce_csrf_checks=True)
    assert [client.post("/api/v1/workspaces").status_code for _ in range(2)] == [403, 403]
    assert_refused(client.post("/api/v1/workspaces"))
    assert_refused(client.get("/api/v1/workspaces"))


def test_openapi_document_is_generated_once(address):
    client = Client(REMOTE_ADDR=address)
    first = [client.get(f"/api/schema/?format={kind}") for kind in ("json", "yaml")]
    with patch("drf_spectacular.generators.SchemaGenerator.get_schema") as write:
        again = [client.get(f"/api/schema/?format={kind}&version=v{kind}") for kind in ("json", "yaml")]
    write.assert_not_called()
    assert [each.content for each in first] == [each.content for each in again]
    assert first[0].json()["openapi"].startswith("3.1")
    assert first[1].content.startswith(b"openapi: 3.1")


def test_request_calls_the_limiter_once(address):
    token, client = good_token(), person(address)
    for request in (lambda: ask(address, token), lambda: client.get("/")):
        with patch.object(Limiter, "_call", autospec=True, return_value=True) as asked:
            request()
        assert asked.call_count == 1


# --- Passwords --------------------------------------------------------------------------------------------


@pytest.fixture
def owner(db):
    return User.objects.create_user("olga@example.org", PASSWORD)


@pytest.fixture
def few(settings):
    settings.KEBAB_SIGN_IN_LIMITS = {"account": "3/15 minutes", "address": "6/15 minutes"}


def try_password(client, password=WRONG, email="olga@example.org"):
    return client.post("/login", {"username": email, "password": password})


def is_signed_in(client):
    return get_user(client).is_authenticated


def test_password_guessing_is_blocked_without_affecting_the_owner(few, owner, address):
    inside, attacker, elsewhere = Client(REMOTE_ADDR="192.0.2.1"), Client(REMOTE_ADDR=address), Client()
    try_password(inside, PASSWORD)
    assert [try_password(attacker).status_code for _ in range(5)] == [200, 200, 200, 429, 429]
    with patch("kebab.accounts.sign_in.authenticate") as authenticate:
        refused = try_password(attacker, PASSWORD)
    assert refused.status_code == 429  # even the right one, or guessing would go on
    authenticate.assert_not_called()  # nor is it hashed
    assert 0 < int(refused["Retry-After"]) <= 1_800
    assert is_signed_in(inside)
    assert try_password(elsewhere, PASSWORD).status_code == 302
    assert is_signed_in(elsewhere)


def test_guessing_ends_on_many_unknown_or_respelt_accounts_too(few, owner, new_address):
    attacker = Client(REMOTE_ADDR=new_address())
    statuses = [try_password(attacker, email=f"person{n}@example.org").status_code for n in range(8)]
    assert statuses == [200] * 6 + [429] * 2
    for emails in (
        ["nobody@example.org"] * 4,
        ["olga@example.org", "Olga@Example.org", " OLGA@example.org", "olga@example.ORG"],
    ):
        attacker = Client(REMOTE_ADDR=new_address())
        assert [try_password(attacker, email=each).status_code for each in emails] == [200] * 3 + [429]


def test_successful_login_resets_its_count_and_is_not_charged_to_the_address(few, owner, new_address):
    client = Client(REMOTE_ADDR=new_address())
    for _ in range(2):
        try_password(client)
    try_password(client, PASSWORD)
    client.post("/logout")
    assert [try_password(client).status_code for _ in range(2)] == [200, 200]

    address = new_address()
    statuses = [try_password(Client(REMOTE_ADDR=address), PASSWORD).status_code for _ in range(8)]
    assert statuses == [302] * 8
    assert try_password(Client(REMOTE_ADDR=address)).status_code == 200


def test_attempt_takes_three_calls_of_the_limiter(few, owner, address):
    client, asked = Client(REMOTE_ADDR=address), []
    for password in (WRONG, WRONG, WRONG, WRONG, PASSWORD):
        with patch.object(Limiter, "_call", autospec=True, side_effect=Limiter._call) as ask_limiter:
            try_password(client, password)
        asked.append(ask_limiter.call_count)
    # To count the request, the account's attempt and the address's; or how long to wait.
    assert asked == [3, 3, 3, 3, 3]


def test_concurrent_login_attempts_do_not_exceed_the_limit(few, owner, address):
    looked_at = []

    def look_at(request, username, password):
        looked_at.append(password)
        if len(looked_at) < 10:  # another comes before this one is found wrong
            try_password(Client(REMOTE_ADDR=address))

    with patch("kebab.accounts.sign_in.authenticate", side_effect=look_at):
        try_password(Client(REMOTE_ADDR=address))
    assert len(looked_at) == 3


def test_current_password_cannot_be_guessed_from_a_session(few, owner, address):
    client = Client(REMOTE_ADDR=address)
    client.force_login(owner)
    form = {"old_password": WRONG, "new_password1": "x" * 20, "new_password2": "x" * 20}
    assert [client.post("/password/change", form).status_code for _ in range(4)] == [200] * 3 + [429]
    assert is_signed_in(client)


# --- Forms ------------------------------------------------------------------------------------------------


def test_large_form_is_refused_unread_and_a_large_json_body_accepted(address, subtests):
    client = Client(REMOTE_ADDR=address)
    for path in ("/login", "/password/reset", "/admin/", "/w/x/search"):
        with subtests.test(path=path):
            assert client.post(path, {"username": "x" * 1_000_001}).status_code == 413
    for length, status in (("0" * 5_000, 200), ("0" * 12 + "1000001", 413), ("9" * 5_000, 413)):
        with subtests.test(length=length[:20]):
            assert client.post("/login", {"login": "x"}, CONTENT_LENGTH=length).status_code == status
    headers = {"Authorization": f"Bearer {good_token()}"}
    api = APIClient(REMOTE_ADDR=address)
    response = api.post("/api/v1/workspaces", {"name": "x" * 1_000_001}, format="json", headers=headers)
    assert response.status_code != 413
