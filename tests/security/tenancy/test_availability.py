"""A PostgreSQL that is away is noticed once, refused at once from then on, and found again by itself."""

import select
import threading

import psycopg
import pytest
from django.db import connection, connections

from kebab.people.models import Workspace
from kebab.tenancy.current_workspace import acting_everywhere
from kebab.tenancy.postgres.availability import DatabaseBreaker, database_breaker
from kebab.tenancy.roles import OWNER
from tests.support.stack import eventually

_END = "SELECT pg_terminate_backend(%s)"


class Server:
    """Stands for one that comes and goes."""

    def __init__(self) -> None:
        self.is_there = threading.Event()
        self.returned = threading.Event()
        self.error = psycopg.OperationalError("connection refused")

    def connect(self):
        if not self.is_there.is_set():
            raise self.error
        return self

    def close(self) -> None:
        """A connection that was made is closed."""


@pytest.fixture
def server():
    server = Server()
    yield server
    server.is_there.set()


@pytest.fixture
def known(server):
    return DatabaseBreaker(server.connect, on_return=server.returned.set)


def test_nobody_is_refused_before_a_connection_was_lost(known):
    known.refuse_while_away()


def test_a_loss_is_refused_at_once_until_a_connection_can_be_made(server, known):
    known.report_loss(psycopg.OperationalError("Connection timed out"))
    with pytest.raises(psycopg.OperationalError, match="a moment ago"):
        known.refuse_while_away()
    server.is_there.set()
    assert server.returned.wait(10)
    known.refuse_while_away()


def test_a_connection_that_ended_alone_has_nobody_else_refused(server, known):
    server.is_there.set()
    known.report_loss(psycopg.OperationalError("terminating connection"))
    known.refuse_while_away()
    assert server.returned.wait(10)


def test_a_server_that_takes_no_connection_after_one_has_ended_is_away(server, known):
    known.report_loss(psycopg.OperationalError("server closed the connection unexpectedly"))
    eventually(lambda: _refuses(known), "it is known")
    server.is_there.set()
    assert server.returned.wait(10)
    known.refuse_while_away()


def test_a_server_without_room_for_one_more_connection_is_not_away(server, known):
    server.error = psycopg.OperationalError("FATAL:  sorry, too many clients already")
    known.report_loss(psycopg.OperationalError("no connection"))
    assert server.returned.wait(10)
    known.refuse_while_away()


def test_who_can_start_no_thread_to_look_leaves_it_to_the_next(known, server, monkeypatch):
    def refuse_to_start(self):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse_to_start)
        known.report_loss(psycopg.OperationalError("Connection timed out"))
    known.refuse_while_away()
    server.is_there.set()
    known.report_loss(psycopg.OperationalError("Connection timed out"))
    assert server.returned.wait(10)


def ended_by_the_server() -> None:
    """End this thread's connection from the other side, and wait until that has arrived."""
    connection.ensure_connection()
    raw = connection.connection
    with connections[OWNER].cursor() as owner:
        owner.execute(_END, [raw.info.backend_pid])
    connections[OWNER].close()
    eventually(lambda: select.select([raw.fileno()], [], [], 0)[0], "the end has arrived")


def _refuses(known: DatabaseBreaker) -> bool:
    try:
        known.refuse_while_away()
    except psycopg.OperationalError:
        return True
    return False


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_a_connection_that_the_server_ended_while_it_was_idle_is_not_lent_again():
    ended_by_the_server()
    connection.close()
    with acting_everywhere():
        assert not Workspace.objects.exists()


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_a_connection_that_breaks_in_use_is_told_of_and_the_next_one_is_sound():
    ended_by_the_server()
    with acting_everywhere(), pytest.raises(Exception, match="connection"):
        Workspace.objects.exists()
    connection.close()
    assert not _refuses(database_breaker())
    with acting_everywhere():
        assert not Workspace.objects.exists()
