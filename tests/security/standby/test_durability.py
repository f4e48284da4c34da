"""Writes that a standby has to have before they are acknowledged."""

from contextlib import nullcontext
from threading import Thread

import pytest
from django.db import connection

from kebab.database.transactions import local_transaction
from kebab.health import scrape, server_checks
from kebab.health.checks import CheckStatus
from kebab.identity.models import Workspace
from kebab.stack.models import ProcessRole
from kebab.stack.nodes import registry
from kebab.stack.nodes.registry import Heartbeat
from kebab.stack.servers.replication import replication_rows
from kebab.tenancy.postgres.base import NotReplicated
from tests.api.refusals import refusal_of
from tests.support.actors import token_client
from tests.support.api import address
from tests.support.corpus import make_workspace
from tests.support.stack import eventually

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

_WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


def set_names(pair, names):
    """Name the standbys that the primary waits for; '' for none."""
    pair.primary.ask(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
    pair.primary.ask("SELECT pg_reload_conf()")
    connection.close()
    connection.close_pool()


@pytest.fixture
def named(pair):
    """Return a function that names the primary's synchronous standbys."""
    set_names(pair, "")
    yield lambda names: set_names(pair, names)
    set_names(pair, "")


def test_write_without_a_synchronous_standby_is_refused(pair, workspace, settings, named):
    client = token_client(workspace, "search", "ingest", "manage")
    settings.KEBAB_REQUIRE_SYNCHRONOUS_STANDBY = True
    rule = {"text": "alpha", "path": "a.md"}
    refused = client.post(address(workspace, "/documents"), rule, format="json")
    assert refusal_of(refused) == (503, "not_replicated", None)
    assert refused["Retry-After"]
    assert client.get(address(workspace, "/search"), {"q": "alpha"}).status_code == 200
    assert server_checks.check_replication().status is CheckStatus.FAILED
    with local_transaction():
        Workspace.objects.filter(pk=workspace.pk).update(name="Not waited for")
    named("*")
    assert client.post(address(workspace, "/documents"), rule, format="json").status_code in {201, 202}
    assert server_checks.check_replication().status is CheckStatus.OK
    assert replication_rows()[0]["writes_wait_for_standby"]


def beat_while_a_commit_waits(pair, beats):
    """Let a process beat this often once a commit waits, then wait for no standby any more."""
    heartbeat = Heartbeat(ProcessRole.WEB)
    eventually(lambda: pair.primary.ask(_WAITING), "a commit waits", 30)
    for _ in range(beats):
        heartbeat._run_action(heartbeat._write_row)
    eventually(lambda: beats < 2 or not pair.primary.ask(_WAITING), "it waits no longer", 30)
    pair.primary.ask("ALTER SYSTEM SET synchronous_standby_names = ''")
    pair.primary.ask("SELECT pg_reload_conf()")


@pytest.mark.parametrize(("beats", "is_refused"), [(1, False), (2, True)])
def test_commit_that_waits_at_two_beats_is_refused(pair, named, beats, is_refused):
    slug = f"beats-{beats}"
    named("nobody")
    process = Thread(target=beat_while_a_commit_waits, args=(pair, beats))
    process.start()
    with pytest.raises(NotReplicated) if is_refused else nullcontext():
        make_workspace(slug=slug)
    process.join()
    assert Workspace.objects.filter(slug=slug).exists()


def test_request_that_writes_ends_while_the_standby_is_frozen(pair, workspace, named, monkeypatch):
    monkeypatch.setattr(registry, "PERIOD_S", 0.2)
    client = token_client(workspace, "search", "ingest", "manage")
    named("*")
    (receiver,) = pair.standby.processes("walreceiver")
    receiver.suspend()
    try:
        with Heartbeat(ProcessRole.WEB):
            given = {"text": "alpha", "path": "a.md"}
            refused = client.post(address(workspace, "/documents"), given, format="json")
    finally:
        receiver.resume()
    assert refusal_of(refused) == (503, "not_replicated", None)
    assert refused["Retry-After"]


def test_guarantee_is_named(pair, monkeypatch):
    assert server_checks.check_replication().status is CheckStatus.WARNING
    (standby,) = server_checks.check_standby()
    assert standby.status is CheckStatus.OK
    monkeypatch.setitem(scrape.settings.DATABASES["default"], "STANDBY", {})
    assert scrape._probe_postgres()["synchronous_standby"] == "degraded"


def test_standby_of_another_cluster_is_told(pair, monkeypatch):
    primary = {"HOST": connection.settings_dict["HOST"]}
    monkeypatch.setitem(connection.settings_dict, "STANDBY", primary)
    connection._connection_pools.pop("standby", None)
    (result,) = server_checks.check_standby()
    assert result.status is CheckStatus.WARNING
    connection._connection_pools.pop("standby").close()
