"""Connections are lent to one thread at a time, made by who needs one, and let go when they are of no use."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from django.db import connection

from kebab.tenancy.postgres import pool as kept_module
from kebab.tenancy.postgres.pool import PooledConnection, PostgresPool

pytestmark = pytest.mark.django_db(transaction=True)

_THREADS = 4
_LIMIT_S = 10


@pytest.fixture
def make_kept(db):
    made = []

    def make(idle_limit_s=60.0, configure=lambda connection: None):
        made.append(PostgresPool(connection.get_connection_params(), configure, idle_limit_s=idle_limit_s))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def kept(make_kept):
    return make_kept()


def test_a_connection_is_lent_again_the_one_that_was_used_last_first(kept):
    first, second = kept.getconn(), kept.getconn()
    assert first is not second
    kept.putconn(first)
    kept.putconn(second)
    assert kept.getconn() is second
    assert kept.getconn() is first
    assert (kept.usage().idle, kept.usage().in_use, kept.usage().connecting) == (0, 2, 0)
    kept.putconn(first)
    kept.putconn(second)


def test_threads_connect_side_by_side(make_kept):
    together = threading.Barrier(_THREADS)
    kept = make_kept(configure=lambda connection: together.wait(_LIMIT_S))

    with ThreadPoolExecutor(_THREADS) as threads:
        lent = [each.result() for each in [threads.submit(kept.getconn) for _ in range(_THREADS)]]

    assert len(set(map(id, lent))) == _THREADS
    assert kept.usage().connected_for_s > 0
    for each in lent:
        kept.putconn(each)


def test_what_comes_back_in_a_transaction_or_broken_is_not_lent_again(kept):
    in_transaction, broken = kept.getconn(), kept.getconn()
    in_transaction.execute("BEGIN")
    broken.close()
    kept.putconn(in_transaction)
    kept.putconn(broken)
    assert in_transaction.closed
    assert kept.usage().idle == kept.usage().in_use == 0


def test_what_nobody_has_used_for_long_is_closed_when_another_comes_back(make_kept):
    kept = make_kept(idle_limit_s=0.0)
    unused, used = kept.getconn(), kept.getconn()
    kept.putconn(unused)
    kept.putconn(used)
    assert unused.closed
    assert not used.closed
    assert kept.usage().idle == 1


def test_an_old_connection_is_not_kept(kept, monkeypatch):
    monkeypatch.setattr(kept_module, "_LIFETIME_S", 0.0)
    old = kept.getconn()
    kept.putconn(old)
    assert old.closed


def test_what_comes_back_after_the_end_is_closed(kept):
    idle, lent = kept.getconn(), kept.getconn()
    kept.putconn(idle)
    kept.close()
    assert idle.closed
    kept.putconn(lent)
    assert lent.closed


def test_a_connection_that_cannot_be_made_or_configured_is_counted_nowhere(make_kept, monkeypatch):
    def refuse(connection):
        raise psycopg.OperationalError("not this one")

    kept = make_kept(configure=refuse)
    with pytest.raises(psycopg.OperationalError, match="not this one"):
        kept.getconn()
    monkeypatch.setattr(PooledConnection, "connect", refuse_to_connect)
    with pytest.raises(psycopg.OperationalError, match="nobody there"):
        kept.getconn()
    assert (kept.usage().idle, kept.usage().in_use, kept.usage().connecting) == (0, 0, 0)


def refuse_to_connect(**parameters):
    raise psycopg.OperationalError("nobody there")


def test_a_forked_child_leaves_its_parents_connections_alone(kept):
    lent = kept.getconn()
    kept.putconn(lent)
    child = os.fork()
    if child == 0:
        kept.close()
        os._exit(kept.usage().idle)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert kept.getconn() is lent
    assert lent.execute("SELECT 1").fetchone() == (1,)
    kept.putconn(lent)
