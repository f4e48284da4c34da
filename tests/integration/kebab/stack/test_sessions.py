"""Connections to Postgres: sessions of their own, on the first host that takes writes."""

from functools import partial
from itertools import count, cycle
from types import SimpleNamespace

import pytest
from django.db import connection
from psycopg import OperationalError

from kebab.stack.errors import DatabaseUnsuitable
from kebab.stack.servers.addresses import parse_database_url
from kebab.stack.servers.postgres_requirements import check_sessions
from kebab.tenancy.postgres.pool import connect

pytestmark = pytest.mark.django_db


class PooledConnection:
    """A connection through a pooler whose servers are named by a function of the connection's number."""

    def __init__(self, number, name_server, limit):
        self.pgconn = SimpleNamespace(backend_pid=-1)
        self._row = lambda: (name_server(number), limit)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def transaction(self):
        return self

    def execute(self, _):
        return SimpleNamespace(fetchone=self._row)


def pool(name_server, limit="4999ms"):
    numbers = count()
    return lambda options: PooledConnection(next(numbers), name_server, limit)


def test_direct_connection_and_a_pool_of_sessions_are_accepted():
    check_sessions(partial(connect, connection.settings_dict))
    check_sessions(pool(lambda number: number))


TURNS = cycle(range(3))


@pytest.mark.parametrize(
    "opened",
    [
        pool(lambda number: 7),  # one server serves both connections
        pool(lambda number: next(TURNS)),  # another one after each transaction
        pool(lambda number: number, limit="0"),
    ],
    ids=["shared", "changing", "settings dropped"],
)
def test_pooler_without_sessions_is_refused(opened):
    with pytest.raises(DatabaseUnsuitable):
        check_sessions(opened)


def test_pooler_that_refuses_options_is_told_from_an_unreachable_server():
    def refuse(message, **_):
        raise OperationalError(message)

    with pytest.raises(DatabaseUnsuitable):
        check_sessions(partial(refuse, "FATAL: unsupported startup parameter: options"))
    with pytest.raises(OperationalError):
        check_sessions(partial(refuse, "connection refused"))


def test_list_of_hosts_connects_to_one_that_takes_writes():
    own = connection.settings_dict
    url = (
        f"host=/nowhere,{own['HOST']} port=1,{own['PORT']} user={own['USER']} dbname={own['NAME']}"
        " target_session_attrs=read-write"
    )
    found = parse_database_url(url, own["ENGINE"])
    with connect({**found, "PASSWORD": own["PASSWORD"]}) as opened:
        assert opened.execute("SELECT current_database()").fetchone() == (own["NAME"],)
