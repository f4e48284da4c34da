"""Circuit breaker of PostgreSQL: opens after one failure, rejects at once, and closes by itself."""

import select
import threading

import psycopg
import pytest
from django.db import connection, connections

from kebab.identity.models import Workspace
from kebab.tenancy.current_workspace import acting_everywhere
from kebab.tenancy.postgres.base import DatabaseBreaker, database_breaker
from kebab.tenancy.roles import OWNER
from tests.support.stack import eventually

_END = "SELECT pg_terminate_backend(%s)"


class Server:
    """A server that can be stopped and started."""

    def __init__(self) -> None:
        self.is_there = threading.Event()
        self.returned = threading.Event()
        self.error = psycopg.OperationalError("connection refused")

    def connect(self):
        if not self.is_there.is_set():
            raise self.error
        return self

    def close(self) -> None:
        """Close a connection."""


@pytest.fixture
def server():
    server = Server()
    yield server
    server.is_there.set()


@pytest.fixture
def breaker(server):
    return DatabaseBreaker(server.connect, on_return=server.returned.set)


def test_breaker_is_closed_before_a_connection_is_lost(breaker):
    breaker.refuse_while_away()


def test_breaker_is_open_from_a_loss_until_a_connection_succeeds(server, breaker):
    breaker.report_loss(psycopg.OperationalError("Connection timed out"))
    with pytest.raises(psycopg.OperationalError, match="a moment ago"):
        breaker.refuse_while_away()
    server.is_there.set()
    assert server.returned.wait(10)
    breaker.refuse_while_away()


def test_single_lost_connection_does_not_open_the_breaker(server, breaker):
    server.is_there.set()
    breaker.report_loss(psycopg.OperationalError("terminating connection"))
    breaker.refuse_while_away()
    assert server.returned.wait(10)


def test_lost_connection_without_a_new_one_opens_the_breaker(server, breaker):
    breaker.report_loss(psycopg.OperationalError("server closed the connection unexpectedly"))
    eventually(lambda: _is_open(breaker), "it is known")
    server.is_there.set()
    assert server.returned.wait(10)
    breaker.refuse_while_away()


def test_too_many_connections_do_not_open_the_breaker(server, breaker):
    server.error = psycopg.OperationalError("FATAL:  sorry, too many clients already")
    breaker.report_loss(psycopg.OperationalError("no connection"))
    assert server.returned.wait(10)
    breaker.refuse_while_away()


def test_failure_to_start_the_probe_thread_is_retried_by_the_next_caller(breaker, server, monkeypatch):
    def refuse_to_start(self):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse_to_start)
        breaker.report_loss(psycopg.OperationalError("Connection timed out"))
    breaker.refuse_while_away()
    server.is_there.set()
    breaker.report_loss(psycopg.OperationalError("Connection timed out"))
    assert server.returned.wait(10)


def terminate_connection() -> None:
    """End this thread's connection from the server's side, and wait until that is noticed."""
    connection.ensure_connection()
    raw = connection.connection
    with connections[OWNER].cursor() as owner:
        owner.execute(_END, [raw.info.backend_pid])
    connections[OWNER].close()
    eventually(lambda: select.select([raw.fileno()], [], [], 0)[0], "the end has arrived")


def _is_open(breaker: DatabaseBreaker) -> bool:
    try:
        breaker.refuse_while_away()
    except psycopg.OperationalError:
        return True
    return False


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_idle_connection_ended_by_the_server_is_not_reused():
    terminate_connection()
    connection.close()
    with acting_everywhere():
        assert not Workspace.objects.exists()


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_connection_that_breaks_in_use_is_reported_and_the_next_one_works():
    terminate_connection()
    with acting_everywhere(), pytest.raises(Exception, match="connection"):
        Workspace.objects.exists()
    connection.close()
    assert not _is_open(database_breaker())
    with acting_everywhere():
        assert not Workspace.objects.exists()
