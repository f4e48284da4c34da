"""A filled workspace and a server for it, once per module."""

import pytest
from django.db import connection

from kebab.tenancy.current_workspace import acting_everywhere
from tests.api.mcp.web_server import running_web_server
from tests.pages.every_page.ground import prepared_ground


@pytest.fixture(scope="module")
def ground(django_db_setup, django_db_blocker, tmp_path_factory):
    """Commit the ground, for the server's threads to see; all threads may use the database meanwhile."""
    root = tmp_path_factory.mktemp("every-page")
    with django_db_blocker.unblock(), acting_everywhere(), prepared_ground(root) as ground:
        yield ground
    # Jobs ran in it, whose threads hand their connections to the pool.
    connection.close()
    connection.close_pool()


@pytest.fixture(scope="module")
def server(ground):
    """Return the address of the web process's application, which can stream."""
    with running_web_server() as url:
        yield url
