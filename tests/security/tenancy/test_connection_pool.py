"""Pool of connections: each is used by one thread at a time, opened on demand, and closed when useless."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from django.db import connection

from kebab.tenancy.postgres import pool as pool_module
from kebab.tenancy.postgres.pool import PooledConnection, PostgresPool

pytestmark = pytest.mark.django_db(transaction=True)

_THREADS = 4
_LIMIT_S = 10


@pytest.fixture
def make_pool(db):
    pools = []

    def make(idle_limit_s=60.0, configure=lambda connection: None):
        pools.append(PostgresPool(connection.get_connection_params(), configure, idle_limit_s=idle_limit_s))
        return pools[-1]

    yield make
    for each in pools:
        each.close()


@pytest.fixture
def pool(make_pool):
    return make_pool()


def test_most_recently_used_connection_is_reused_first(pool):
    first, second = pool.getconn(), pool.getconn()
    assert first is not second
    pool.putconn(first)
    pool.putconn(second)
    assert pool.getconn() is second
    assert pool.getconn() is first
    assert (pool.usage().idle, pool.usage().in_use, pool.usage().connecting) == (0, 2, 0)
    pool.putconn(first)
    pool.putconn(second)


def test_threads_connect_concurrently(make_pool):
    together = threading.Barrier(_THREADS)
    pool = make_pool(configure=lambda connection: together.wait(_LIMIT_S))

    with ThreadPoolExecutor(_THREADS) as threads:
        lent = [each.result() for each in [threads.submit(pool.getconn) for _ in range(_THREADS)]]

    assert len(set(map(id, lent))) == _THREADS
    assert pool.usage().connected_for_s > 0
    for each in lent:
        pool.putconn(each)


def test_connection_returned_broken_or_in_a_transaction_is_not_reused(pool):
    in_transaction, broken = pool.getconn(), pool.getconn()
    in_transaction.execute("BEGIN")
    broken.close()
    pool.putconn(in_transaction)
    pool.putconn(broken)
    assert in_transaction.closed
    assert pool.usage().idle == pool.usage().in_use == 0


def test_idle_connections_are_closed_when_another_is_returned(make_pool):
    pool = make_pool(idle_limit_s=0.0)
    unused, used = pool.getconn(), pool.getconn()
    pool.putconn(unused)
    pool.putconn(used)
    assert unused.closed
    assert not used.closed
    assert pool.usage().idle == 1


def test_old_connection_is_closed(pool, monkeypatch):
    monkeypatch.setattr(pool_module, "_LIFETIME_S", 0.0)
    old = pool.getconn()
    pool.putconn(old)
    assert old.closed


def test_connection_returned_after_close_is_closed(pool):
    idle, lent = pool.getconn(), pool.getconn()
    pool.putconn(idle)
    pool.close()
    assert idle.closed
    pool.putconn(lent)
    assert lent.closed


def test_failed_connection_is_not_counted(make_pool, monkeypatch):
    def refuse(connection):
        raise psycopg.OperationalError("not this one")

    pool = make_pool(configure=refuse)
    with pytest.raises(psycopg.OperationalError, match="not this one"):
        pool.getconn()
    monkeypatch.setattr(PooledConnection, "connect", refuse_to_connect)
    with pytest.raises(psycopg.OperationalError, match="nobody there"):
        pool.getconn()
    assert (pool.usage().idle, pool.usage().in_use, pool.usage().connecting) == (0, 0, 0)


def refuse_to_connect(**parameters):
    raise psycopg.OperationalError("nobody there")


def test_forked_child_does_not_use_its_parents_connections(pool):
    lent = pool.getconn()
    pool.putconn(lent)
    child = os.fork()
    if child == 0:
        pool.close()
        os._exit(pool.usage().idle)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert pool.getconn() is lent
    assert lent.execute("SELECT 1").fetchone() == (1,)
    pool.putconn(lent)
