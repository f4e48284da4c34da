"""Bad tokens, bad passwords, too many requests, too large forms: over HTTP."""

from unittest.mock import patch

import pytest
from django.contrib.auth import get_user
from django.test import Client
from rest_framework.test import APIClient

from kebab.limits.limiter import Limiter
from kebab.people.models import Role, User
from kebab.people.tokens import mint_token
from tests.support.actors import make_member, make_workspace

pytestmark = pytest.mark.django_db

PASSWORD, WRONG = "ebb tide at four", "wrong wrong wrong"
BAD_TOKEN = "kbb_abcdefghijkl_" + "x" * 43


def ask(address, token, path="/api/v1/workspaces"):
    client = APIClient(REMOTE_ADDR=address)
    return client.get(path, headers={"Authorization": f"Bearer {token}"})


def check_problem(response, said):
    assert response.status_code == 429
    assert response["Content-Type"] == "application/problem+json"
    assert response.json()["code"] == "rate_limited"
    assert said in response.json()["detail"]
    assert 0 < int(response["Retry-After"]) <= 120


def test_bad_tokens_are_refused_longer_and_good_ones_from_there_still_work(settings, address, db):
    settings.KEBAB_BAD_TOKEN_LIMIT = "3/minute"
    _, good = mint_token(make_workspace(), scopes=["search"])
    statuses = [ask(address, bad).status_code for bad in (BAD_TOKEN, "nonsense", "é")]

    assert statuses == [401, 401, 401]
    check_problem(ask(address, BAD_TOKEN), "from this address")
    assert ask(address, good).status_code == 200
    check_problem(ask(address, BAD_TOKEN), "from this address")


def test_bad_tokens_of_one_address_are_not_anothers(settings, address, db):
    settings.KEBAB_BAD_TOKEN_LIMIT = "1/minute"
    ask(address, BAD_TOKEN)
    assert ask(address, BAD_TOKEN).status_code == 429

    other = address.replace("198.", "2001:db8:").replace(".", ":") + "::1"
    assert ask(other, BAD_TOKEN).status_code == 401


def test_a_token_may_ask_so_often_and_another_is_not_held_up(settings, address, db):
    settings.KEBAB_RATE_LIMIT = "3/minute"
    workspace = make_workspace()
    (_, one), (_, other) = (mint_token(workspace, scopes=["search"]) for _ in range(2))

    assert [ask(address, one).status_code for _ in range(3)] == [200] * 3
    check_problem(ask(address, one), "too often")
    check_problem(ask(address, one, "/api/v1/workspaces/missing/documents"), "too often")
    assert ask(address, other).status_code == 200


def test_a_persons_pages_and_api_requests_count_together(settings, address, db):
    settings.KEBAB_RATE_LIMIT = "4/minute"
    client = Client(REMOTE_ADDR=address)
    client.force_login(make_member(make_workspace(), Role.VIEWER))
    statuses = [client.get(path).status_code for path in ("/", "/api/v1/workspaces") * 2]

    assert statuses == [302, 200, 302, 200]
    page = client.get("/")
    assert page.status_code == 429
    assert "You ask too often. Try again in" in page.content.decode()
    assert int(page["Retry-After"]) > 0
    check_problem(client.get("/api/v1/workspaces"), "too often")


@pytest.mark.parametrize("path", ["/healthz", "/version", "/static/kebab/site.css"])
def test_probes_and_files_are_not_counted(settings, address, db, path):
    settings.KEBAB_RATE_LIMIT = "1/minute"
    client = Client(REMOTE_ADDR=address)

    for _ in range(3):
        response = client.get(path)
        response.close()
        assert response.status_code == 200


def test_strangers_are_counted_by_their_address(settings, address, db):
    settings.KEBAB_RATE_LIMIT = "2/minute"
    client = Client(REMOTE_ADDR=address)

    assert [client.get("/login").status_code for _ in range(3)] == [200, 200, 429]


@pytest.mark.parametrize("path", ["/api/schema/", "/api/docs/", "/api/v1/workspaces", "/api/v1/nowhere"])
def test_strangers_are_counted_below_the_api_too(settings, address, db, path):
    settings.KEBAB_RATE_LIMIT = "2/minute"
    client = Client(REMOTE_ADDR=address)
    statuses = [client.get(path).status_code for _ in range(2)]

    assert 429 not in statuses
    check_problem(client.get(path), "too often")
    check_problem(client.get(path, headers={"Authorization": "Basic YTpi"}), "too often")
    elsewhere = Client(REMOTE_ADDR=address.replace("198.", "199.", 1))
    assert elsewhere.get(path).status_code == statuses[0]


def test_a_token_is_not_held_up_by_strangers_from_its_address(settings, address, db):
    settings.KEBAB_RATE_LIMIT = "1/minute"
    _, token = mint_token(make_workspace(), scopes=["search"])
    client = Client(REMOTE_ADDR=address)

    assert [client.get("/api/v1/workspaces").status_code for _ in range(2)] == [401, 429]
    assert ask(address, token).status_code == 200


@pytest.mark.parametrize("path", ["/api/v1/schemas/search_hit.v1", "/api/v1/nowhere"])
@pytest.mark.parametrize("caller", ["a bad token", "a good token", "a person"])
def test_what_no_view_of_the_api_counts_is_counted_too(settings, address, db, path, caller):
    settings.KEBAB_RATE_LIMIT = "2/minute"
    client, token = Client(REMOTE_ADDR=address), BAD_TOKEN
    if caller == "a person":
        client.force_login(make_member(make_workspace(), Role.VIEWER))
    if caller == "a good token":
        _, token = mint_token(make_workspace(), scopes=["search"])
    headers = {} if caller == "a person" else {"Authorization": f"Bearer {token}"}
    statuses = [client.get(path, headers=headers).status_code for _ in range(2)]

    assert 429 not in statuses
    check_problem(client.get(path, headers=headers), "too often")


def test_a_post_without_its_csrf_token_is_counted(settings, address, db):
    settings.KEBAB_RATE_LIMIT = "2/minute"
    client = Client(REMOTE_ADDR=address, enforce_csrf_checks=True)
    client.force_login(make_member(make_workspace(), Role.VIEWER))

    assert [client.post("/api/v1/workspaces").status_code for _ in range(2)] == [403, 403]
    check_problem(client.post("/api/v1/workspaces"), "too often")
    check_problem(client.get("/api/v1/workspaces"), "too often")


def test_a_large_body_of_the_api_is_no_form(address, db):
    _, token = mint_token(make_workspace(), scopes=["search"])
    client = APIClient(REMOTE_ADDR=address)
    headers = {"Authorization": f"Bearer {token}"}
    response = client.post("/api/v1/workspaces", {"name": "x" * 1_000_001}, format="json", headers=headers)

    assert response.status_code != 413


def test_the_description_of_the_api_is_written_once(address, db):
    client = Client(REMOTE_ADDR=address)
    first = [client.get(f"/api/schema/?format={kind}") for kind in ("json", "yaml")]
    with patch("drf_spectacular.generators.SchemaGenerator.get_schema") as write:
        again = [client.get(f"/api/schema/?format={kind}&version=v{kind}") for kind in ("json", "yaml")]

    write.assert_not_called()
    assert [each.content for each in first] == [each.content for each in again]
    assert first[0].json()["openapi"].startswith("3.1")
    assert first[1].content.startswith(b"openapi: 3.1")
    assert [each["Content-Type"] for each in first] == [
        "application/vnd.oai.openapi+json",
        "application/vnd.oai.openapi",
    ]


def test_a_request_counts_with_one_question_to_the_limiter(address, db):
    _, token = mint_token(make_workspace(), scopes=["search"])
    with patch.object(Limiter, "_ask", autospec=True, return_value=True) as asked:
        ask(address, token)
    assert asked.call_count == 1

    client = Client(REMOTE_ADDR=address)
    client.force_login(make_member(make_workspace(), Role.VIEWER))
    with patch.object(Limiter, "_ask", autospec=True, return_value=True) as asked:
        client.get("/")
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


def test_guessing_ends_for_the_guesser_and_the_owner_notices_nothing(few, owner, address):
    inside, attacker, elsewhere = Client(REMOTE_ADDR="192.0.2.1"), Client(REMOTE_ADDR=address), Client()
    try_password(inside, PASSWORD)
    statuses = [try_password(attacker).status_code for _ in range(5)]
    refused = try_password(attacker, PASSWORD)

    assert statuses == [200, 200, 200, 429, 429]
    assert refused.status_code == 429  # even the right one, or guessing would go on
    assert "Too many attempts to sign in from here have failed. Try again in 1" in refused.content.decode()
    assert 0 < int(refused["Retry-After"]) <= 1_800
    assert is_signed_in(inside)
    assert try_password(elsewhere, PASSWORD).status_code == 302
    assert is_signed_in(elsewhere)


def test_guessing_on_many_accounts_ends_too(few, owner, address):
    attacker = Client(REMOTE_ADDR=address)
    statuses = [try_password(attacker, email=f"person{n}@example.org").status_code for n in range(8)]

    assert statuses == [200] * 6 + [429] * 2


def test_accounts_that_are_not_there_are_limited_like_others(few, address):
    attacker = Client(REMOTE_ADDR=address)

    assert [try_password(attacker, email="nobody@example.org").status_code for _ in range(4)] == [200] * 3 + [
        429
    ]


def test_the_address_is_the_same_account_in_any_case(few, owner, address):
    attacker = Client(REMOTE_ADDR=address)
    emails = ("olga@example.org", "Olga@Example.org", " OLGA@example.org", "olga@example.ORG")

    assert [try_password(attacker, email=email).status_code for email in emails] == [200] * 3 + [429]


def test_who_gets_in_begins_anew(few, owner, address):
    client = Client(REMOTE_ADDR=address)
    for _ in range(2):
        try_password(client)
    try_password(client, PASSWORD)
    client.post("/logout")

    assert [try_password(client).status_code for _ in range(2)] == [200, 200]


def test_a_failed_attempt_asks_the_limiter_three_times(few, owner, address):
    client, asked = Client(REMOTE_ADDR=address), []
    for password in (WRONG, WRONG, WRONG, WRONG, PASSWORD):
        with patch.object(Limiter, "_ask", autospec=True, side_effect=Limiter._ask) as ask_limiter:
            try_password(client, password)
        asked.append(ask_limiter.call_count)

    # To count the request, the account's attempt and the address's; or how long to wait.
    assert asked == [3, 3, 3, 3, 3]


def test_who_gets_in_uses_up_nothing_of_the_address(few, owner, address):
    statuses = [try_password(Client(REMOTE_ADDR=address), PASSWORD).status_code for _ in range(8)]

    assert statuses == [302] * 8
    assert try_password(Client(REMOTE_ADDR=address)).status_code == 200


def test_attempts_at_the_same_time_are_no_more_than_one_by_one(few, owner, address):
    looked_at = []

    def look_at(request, username, password):
        looked_at.append(password)
        if len(looked_at) < 10:  # another comes before this one is found wrong
            try_password(Client(REMOTE_ADDR=address))

    with patch("kebab.accounts.signing_in.authenticate", side_effect=look_at):
        try_password(Client(REMOTE_ADDR=address))

    assert len(looked_at) == 3


def test_a_refused_attempt_does_not_even_hash(few, owner, address):
    attacker = Client(REMOTE_ADDR=address)
    for _ in range(3):
        try_password(attacker)
    with patch("kebab.accounts.signing_in.authenticate") as authenticate:
        try_password(attacker, PASSWORD)

    authenticate.assert_not_called()


def test_the_password_of_now_can_not_be_guessed_from_a_session(few, owner, address):
    client = Client(REMOTE_ADDR=address)
    client.force_login(owner)
    form = {"old_password": "wrong wrong wrong", "new_password1": "x" * 20, "new_password2": "x" * 20}

    assert [client.post("/password/change", form).status_code for _ in range(4)] == [200] * 3 + [429]
    assert is_signed_in(client)


# --- Forms ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/login", "/password/reset", "/admin/", "/w/x/search"])
def test_a_large_form_is_refused_unread(address, db, path):
    client = Client(REMOTE_ADDR=address)
    response = client.post(path, {"username": "x" * 1_000_001})

    assert response.status_code == 413
    assert "at most 1000000 bytes" in response.content.decode()


@pytest.mark.parametrize(
    ("length", "status"), [("0" * 5_000, 200), ("0" * 12 + "1000001", 413), ("9" * 5_000, 413)]
)
def test_a_length_is_read_however_it_is_written(address, db, length, status):
    client = Client(REMOTE_ADDR=address)

    assert client.post("/login", {"login": "x"}, CONTENT_LENGTH=length).status_code == status
