"""Searches and writes on a Postgres that accepts no writes."""

import json

import pytest
from django.db import connection

from kebab.health import responses, scrape, server_checks
from kebab.identity import tokens
from kebab.identity.models import ApiToken
from kebab.identity.tokens import mint_token
from kebab.runtime import role
from kebab.tenancy.roles import owner_connection
from tests.api.refusals import refusal_of
from tests.support.actors import bearer_client
from tests.support.api import address
from tests.support.corpus import write
from tests.support.search import finish_syncs

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def client(workspace, monkeypatch):
    """Return a client of a web process with a token that was never used."""
    write(workspace, "a.md", "alpha")
    _, used = mint_token(workspace, scopes=["search"])
    assert bearer_client(used).get(address(workspace, "/search"), {"q": "alpha"}).json()["hits"]
    finish_syncs()
    monkeypatch.setattr(role, "_role", "web")
    yield bearer_client(mint_token(workspace, scopes=["search", "ingest"], name="new")[1])
    wait_for_uses()


@pytest.fixture
def read_only(client):
    """Make new connections read-only while a test runs."""
    name, pool = connection.settings_dict["NAME"], connection.pool

    def reconnect():
        connection.close()
        if pool is not None:
            pool.close_idle()

    with owner_connection() as owner:
        owner.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
        reconnect()
        yield
        wait_for_uses()
        owner.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only')
        reconnect()


def wait_for_uses():
    tokens._use_writer().submit(lambda: None).result(30)


@pytest.mark.usefixtures("read_only")
@pytest.mark.parametrize("mode", ["lexical", "vector", "hybrid"])
def test_search_works_and_a_write_is_refused(client, workspace, mode):
    assert client.get(address(workspace, "/search"), {"q": "alpha", "mode": mode}).status_code == 200
    response = client.post(address(workspace, "/documents"), {"path": "b.md", "text": "beta"}, format="json")
    assert refusal_of(response) == (503, "database_read_only", None)


@pytest.mark.usefixtures("read_only")
def test_readiness_and_doctor_name_the_state(monkeypatch):
    monkeypatch.setattr(scrape, "_STORES_FRESH_S", 0)
    reply = responses.readiness_reply()
    body = json.loads(reply.body)
    assert (reply.status, body["checks"]["writes"], "primary" in body["detail"]) == (200, "degraded", True)
    assert "read-only" in server_checks.check_postgres().detail


def test_use_is_recorded_behind_a_search(client, workspace):
    assert client.get(address(workspace, "/search"), {"q": "alpha"}).status_code == 200
    wait_for_uses()
    assert ApiToken.objects.get(name="new").last_used_at is not None
