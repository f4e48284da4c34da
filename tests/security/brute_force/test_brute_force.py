"""Rate limits stop a thousand wrong passwords or tokens without affecting other callers."""

import base64
import secrets

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from kebab.http.rate_limits.rules import limiter
from kebab.identity.models import ApiToken, Membership, Role, User
from kebab.identity.tokens import mint_token, verify_token
from kebab.tenancy.roles import owner_connection
from tests.support.actors import make_workspace
from tests.support.api import address

# Of thousands of requests most need no Postgres, which ends idle transactions.
pytestmark = pytest.mark.django_db(transaction=True)
_N = 1_000
# A process that can't reach Redis in time counts alone for a while, so each limit may be reached twice.
_COUNTERS = 2
_ATTACKER, _ELSEWHERE = "203.0.113.7", "198.51.100.4"
_PASSWORD = "correct horse 7 battery"


@pytest.fixture(autouse=True)
def _limits(settings):
    """Restore the default limits, which the rest of the suite raises."""
    settings.KEBAB_BAD_TOKEN_LIMIT = "60/minute"
    settings.KEBAB_SIGN_IN_LIMITS = {"account": "10/15 minutes", "address": "100/15 minutes"}
    _forget_counts()
    yield
    _forget_counts()


def _forget_counts():
    for window in (limiter()._shared, limiter()._own):
        window.storage.reset()


@pytest.fixture
def workspace(transactional_db):
    return make_workspace()


@pytest.fixture
def owner(workspace):
    user = User.objects.create_user("owner@example.org", _PASSWORD)
    Membership.objects.create(workspace=workspace, user=user, role=Role.OWNER)
    return user


def _sign_in(password, email="owner@example.org", of=_ATTACKER):
    client = Client(REMOTE_ADDR=of)
    return client, client.post("/login", {"username": email, "password": password})


def _ask(workspace, token, of=_ATTACKER):
    headers = {"Authorization": f"Bearer {token}"}
    return Client(REMOTE_ADDR=of).get(address(workspace, "/documents"), headers=headers)


def _bad_token():
    prefix = base64.b32encode(secrets.token_bytes(8)).decode().lower().rstrip("=")[:12]
    return f"kbb_{prefix}_{secrets.token_urlsafe(32)}"


@pytest.mark.slow
def test_thousand_wrong_passwords_are_stopped_and_the_owner_signs_in_elsewhere(workspace, owner):
    session, signed_in = _sign_in(_PASSWORD, of=_ELSEWHERE)
    assert signed_in.status_code == 302
    answers = [_sign_in(f"wrong {number}")[1] for number in range(_N)]
    tried = [answer for answer in answers if answer.status_code != 429]

    assert len(tried) <= _COUNTERS * 10
    assert all(int(each.headers["Retry-After"]) > 0 for each in answers if each.status_code == 429)
    # The right password is rejected from there too, or guessing could continue.
    assert _sign_in(_PASSWORD)[1].status_code == 429
    assert session.get(f"/w/{workspace.slug}/search").status_code == 200
    assert _sign_in(_PASSWORD, of=_ELSEWHERE)[1].status_code == 302


@pytest.mark.slow
def test_attempts_for_many_accounts_from_one_address_are_limited(workspace, owner):
    answers = [_sign_in("wrong", email=f"person{number}@example.org")[1] for number in range(300)]

    assert sum(answer.status_code != 429 for answer in answers) <= _COUNTERS * 100
    assert answers[-1].status_code == 429
    assert _sign_in(_PASSWORD, of=_ELSEWHERE)[1].status_code == 302


@pytest.mark.slow
def test_thousand_wrong_tokens_are_stopped_and_valid_ones_accepted(workspace, owner):
    _, good = mint_token(workspace, scopes=["search"])
    answers = [_ask(workspace, _bad_token()) for _ in range(_N)]
    refused = [answer for answer in answers if answer.status_code == 429]

    assert {answer.status_code for answer in answers} == {401, 429}
    # The window slides, so that requests that a slow machine lets through count too.
    assert len(refused) >= _N - 300
    assert all(int(answer.headers["Retry-After"]) > 0 for answer in refused)
    assert refused[0].json()["code"] == "rate_limited"
    for network in (_ATTACKER, _ELSEWHERE):
        assert _ask(workspace, good, of=network).status_code == 200
    assert _ask(workspace, _bad_token(), of=_ELSEWHERE).status_code == 401
    assert _sign_in(_PASSWORD, of=_ATTACKER)[1].status_code == 302


@pytest.mark.slow
def test_forged_header_does_not_change_the_client_address(workspace, owner):
    for number in range(200):
        client = Client(REMOTE_ADDR=_ATTACKER, headers={"X-Forwarded-For": f"192.0.2.{number}"})
        answer = client.post("/login", {"username": "owner@example.org", "password": f"wrong {number}"})

    assert answer.status_code == 429


def test_token_costs_one_indexed_query_and_a_malformed_one_none(
    workspace, settings, django_assert_num_queries
):
    settings.KEBAB_PLAN_ONCE = False  # so that the query is not prepared
    _, secret = mint_token(workspace, scopes=["search"])
    verify_token(secret)  # records its use, once a minute
    for presented in ("", "kbb_", "x" * 9_000, secret[:-1], f"{secret}a", "kbb_" + "a" * 12 + "_" + "é" * 43):
        with django_assert_num_queries(0):
            assert verify_token(presented) is None
    with CaptureQueriesContext(connection) as queries:
        assert verify_token(secret) is not None
        assert verify_token(_bad_token()) is None
    statements = [each["sql"] for each in queries if "people_apitoken" in each["sql"]]

    assert len(statements) == 2
    _add_tokens(workspace, 2_000)
    assert "Index Cond: ((prefix)::text = " in _plan(statements[0])


def _add_tokens(workspace, number):
    """Add enough tokens that Postgres uses the index, and update its statistics."""
    tokens = (
        ApiToken(workspace=workspace, prefix=f"other{n:07}", secret_sha256=secrets.token_bytes(32))
        for n in range(number)
    )
    ApiToken.objects.bulk_create(tokens)
    with owner_connection() as owner:
        owner.execute("ANALYZE people_apitoken")


def _plan(statement):
    """Return Postgres' plan."""
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN " + statement[statement.index("SELECT") :])
        return "\n".join(row[0] for row in cursor.fetchall())
