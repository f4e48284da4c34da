"""Requests while the primary is away: a standby answers them, as far as it has what was acknowledged."""

from io import BytesIO

import pytest
import redis
from django.core.handlers.wsgi import WSGIRequest
from django.db import connection
from django.test import RequestFactory

from kebab.health import responses, scrape
from kebab.http.handlers import ViewHandler
from kebab.identity.tokens import mint_token
from kebab.people.operator import command_line_access
from kebab.people.token_lifecycle import revoke_token
from kebab.runtime import role
from kebab.stack.servers import rights_place
from kebab.stack.servers.lost_changes import lost_ranges
from kebab.tenancy.postgres import standby
from search.mirror import local_mirrors
from tests.api.refusals import refusal_of
from tests.support.actors import bearer_client
from tests.support.api import address
from tests.support.corpus import write
from tests.support.search import finish_syncs, sync
from tests.support.standby import Pair

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("mirrors")]


@pytest.fixture
def client(pair: Pair, workspace, monkeypatch):
    """Return a client whose workspace the standby has, and which is checked at each connection."""
    monkeypatch.setattr(standby, "_CHECK_EVERY_S", 0.0)
    write(workspace, "a.md", "alpha")
    token, secret = mint_token(workspace, scopes=["search", "ingest", "ask"])
    client = bearer_client(secret)
    client.token = token
    assert search(client, workspace).json()["degraded"] == []
    finish_syncs()
    pair.replicate()
    return client


@pytest.fixture
def lagging(pair):
    """Let the standby replay nothing; return a function that it goes on by."""
    pair.standby.ask("SELECT pg_wal_replay_pause()")
    yield lambda: pair.standby.ask("SELECT pg_wal_replay_resume()")
    pair.standby.ask("SELECT pg_wal_replay_resume()")


def search(client, workspace, **more):
    return client.get(address(workspace, "/search"), {"q": "alpha", "mode": "lexical", **more})


def revoke(client, workspace):
    assert revoke_token(command_line_access(workspace), client.token)


@pytest.mark.parametrize("mode", ["lexical", "vector", "hybrid"])
def test_searches_go_on_and_writes_are_refused(pair, client, workspace, mode):
    before = search(client, workspace, mode=mode).json()
    with pair.without_primary():
        found = search(client, workspace, mode=mode).json()
        document = {"path": "b.md", "text": "beta"}
        refused = client.post(address(workspace, "/documents"), document, format="json")
        assert refusal_of(refused) == (503, "database_unavailable", None)
        assert refused["Retry-After"]
    assert found["degraded"] == [*before["degraded"], "primary_unreachable"]
    assert (found["hits"], found["seq"]) == (before["hits"], before["seq"])
    assert search(client, workspace, mode=mode).json()["degraded"] == before["degraded"]


def test_question_is_answered_and_the_process_stays_ready(pair, client, workspace, monkeypatch):
    monkeypatch.setattr(scrape, "_STORES_FRESH_S", 0)
    with pair.without_primary():
        answer = client.post(address(workspace, "/ask"), {"question": "alpha"}, format="json")
        assert answer.status_code == 200
        assert "primary_unreachable" in answer.json()["degraded"]
        assert responses.readiness_reply().status == 200


def test_revocation_that_the_standby_has_is_honoured(pair, client, workspace):
    revoke(client, workspace)
    pair.replicate()
    with pair.without_primary():
        assert search(client, workspace).status_code == 401


def test_revocation_that_the_standby_lacks_is_not_overlooked(pair, client, workspace, settings, lagging):
    settings.KEBAB_STANDBY_MAX_LAG = 0
    revoke(client, workspace)
    with pair.without_primary():
        assert refusal_of(search(client, workspace)) == (503, "database_unavailable", None)
        lagging()
        pair.standby.wait_for(pair.end)
        assert search(client, workspace).status_code == 401


def test_without_redis_a_standby_is_read_from_for_the_bound(pair, client, workspace, settings, monkeypatch):
    def refuse(*_):
        raise redis.ConnectionError

    monkeypatch.setattr(rights_place, "redis_client", refuse)
    with pair.without_primary():
        settings.KEBAB_STANDBY_MAX_LAG = 3_600
        assert search(client, workspace).status_code == 200
        connection.close()  # as at the end of a request
        settings.KEBAB_STANDBY_MAX_LAG = 0
        assert search(client, workspace).status_code == 503


def test_workers_do_not_use_a_standby(pair, client, workspace, monkeypatch):
    monkeypatch.setattr(role, "_role", "worker")
    with pair.without_primary():
        assert search(client, workspace).status_code == 503


def test_min_seq_waits_for_the_replay(pair, client, workspace, settings, lagging, monkeypatch):
    write(workspace, "b.md", "alpha beta")
    workspace.refresh_from_db()
    sync(workspace)
    settings.KEBAB_WAIT_LIMIT_S = 0
    with pair.without_primary():
        awaited = {"min_seq": workspace.head_seq}
        assert refusal_of(search(client, workspace, **awaited)) == (503, "not_searchable_yet", None)
        behind = search(client, workspace).json()
        assert "seq" in behind, behind
        assert behind["degraded"] == ["lexical", "primary_unreachable"]
        assert behind["seq"] < workspace.head_seq == local_mirrors.mirror_seq(workspace.pk)
        finish_syncs()
        assert local_mirrors.mirror_seq(workspace.pk) == workspace.head_seq
        assert str(workspace.pk) not in {lost.subject for lost in lost_ranges()}
        lagging()
        pair.standby.wait_for(pair.end)
        found = search(client, workspace, **awaited).json()
        assert (found["seq"], found["degraded"]) == (workspace.head_seq, ["primary_unreachable"])
        assert len(found["hits"]) == 2


@pytest.mark.parametrize("method", ["get", "post"])
def test_search_whose_connection_is_lost_is_repeated_on_the_standby(pair, client, workspace, method):
    given = {"q": "alpha", "mode": "lexical"}
    options = {"content_type": "application/json"} if method == "post" else {}
    environ = getattr(RequestFactory(), method)(address(workspace, "/search"), given, **options).environ
    environ["wsgi.input"] = BytesIO(environ["wsgi.input"].read())
    environ["HTTP_AUTHORIZATION"] = client._credentials["HTTP_AUTHORIZATION"]
    handler = ViewHandler()
    handler.load_middleware()
    handler._token_requests.load_middleware()
    connection.ensure_connection()
    with pair.without_primary(closes=False):
        response = handler.get_response(WSGIRequest(environ))
        assert response.status_code == 200
        assert b"primary_unreachable" in response.content
