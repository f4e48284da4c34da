"""Requests while the primary is away: a standby answers them, as far as it has what was acknowledged."""

import pytest
from django.db import connection

from kebab.identity.models import ApiToken
from kebab.identity.tokens import mint_token
from kebab.people.operator import command_line_access
from kebab.people.token_lifecycle import revoke_token
from kebab.tenancy.postgres import standby
from tests.api.refusals import refusal_of
from tests.support.actors import bearer_client
from tests.support.api import address
from tests.support.corpus import write
from tests.support.search import finish_syncs
from tests.support.standby import Pair, pair  # noqa: F401  a fixture

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("mirrors")]


@pytest.fixture
def client(pair: Pair, workspace, monkeypatch):
    """Return a client whose workspace the standby has."""
    monkeypatch.setattr(standby, "_CHECK_EVERY_S", 0.0)
    write(workspace, "a.md", "alpha")
    _, secret = mint_token(workspace, scopes=["search", "ingest"])
    client = bearer_client(secret)
    assert search(client, workspace).json()["degraded"] == []
    finish_syncs()
    pair.replicate()
    return client


def search(client, workspace, **more):
    return client.get(address(workspace, "/search"), {"q": "alpha", "mode": "lexical", **more})


@pytest.mark.parametrize("mode", ["lexical", "vector", "hybrid"])
def test_searches_go_on_and_writes_are_refused(pair, client, workspace, mode):
    before = search(client, workspace, mode=mode).json()
    with pair.without_primary():
        found = search(client, workspace, mode=mode).json()
        refused = client.post(
            address(workspace, "/documents"), {"path": "b.md", "text": "beta"}, format="json"
        )
        assert refusal_of(refused) == (503, "database_unavailable", None)
        assert refused["Retry-After"]
    assert found["degraded"] == [*before["degraded"], "primary_unreachable"]
    assert (found["hits"], found["seq"]) == (before["hits"], before["seq"])
    assert search(client, workspace, mode=mode).json()["degraded"] == before["degraded"]
