"""The ground, a server and a browser, once for all pages."""

import pytest
from django.db import connection

from kebab.tenancy.acting import acting_everywhere
from tests.api.mcp.serving import served
from tests.pages.every_page.ground import prepared_ground
from tests.pages.every_page.visiting import visit


@pytest.fixture(scope="module")
def ground(django_db_setup, django_db_blocker, tmp_path_factory):
    """Committed, for the server's threads to see; while it stands all of them may ask the database."""
    root = tmp_path_factory.mktemp("every-page")
    with django_db_blocker.unblock(), acting_everywhere(), prepared_ground(root) as ground:
        yield ground
    # Jobs ran in it, whose threads hand their connections to the pool.
    connection.close()
    connection.close_pool()


@pytest.fixture(scope="module")
def server(ground):
    """The address of the web process's application, streams and all."""
    with served() as url:
        yield url


@pytest.fixture(scope="module")
def visited(browser, server, ground):
    """Give what was found on a page; each is opened once, when it is first asked for."""
    visits = {}

    def visited_(entry):
        if entry.label not in visits:
            visits[entry.label] = visit(browser, server, ground, entry)
        return visits[entry.label]

    return visited_
