"""Fixtures of MCP tests: a workspace committed once per module, and connections to the server."""

import pytest
from django.test import override_settings

from kebab.identity.tokens import mint_token
from kebab.people.operator import command_line_access
from kebab.people.workspaces import delete_workspace
from tests.api.mcp import shelf as shelves
from tests.api.mcp.clients import ERAS, Line, environment
from tests.api.mcp.shelf import Shelf, fill
from tests.api.mcp.web_server import running_web_server
from tests.integration.search.context.workspace_files import put_file
from tests.support.api import committed_workspace, forget_acts
from tests.support.corpus import make_workspace
from tests.support.stores import stores_in

_NOTE = "# Comets\n\nThe comet was seen above the quay.\n"


@pytest.fixture(autouse=True)
def _database(db):
    """Create the test database. The server sees committed rows only."""


@pytest.fixture(autouse=True)
def _stores(shelf):
    """Keep the settings of the shelf's stores, where its mirrors and blobs lie."""


@pytest.fixture(scope="session")
def url(django_db_setup):
    with running_web_server() as address:
        yield address


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder of the module's mirrors and blobs."""
    return tmp_path_factory.mktemp("mcp")


@pytest.fixture(scope="module")
def shelf(django_db_setup, django_db_blocker, folder):
    with (
        override_settings(**stores_in(folder)),
        committed_workspace(django_db_blocker, folder / "mirrors", fill) as workspace,
        django_db_blocker.unblock(),
    ):
        _, secret = mint_token(workspace, scopes=("search", "ask", "ingest", "manage"))
        yield Shelf(workspace=workspace, secret=secret)


@pytest.fixture
def other(shelf):
    """Yield another workspace, which holds one note."""

    def make():
        workspace = make_workspace()
        put_file(workspace, "comets.md", _NOTE)
        return workspace

    def forget():
        delete_workspace(command_line_access(workspace))
        forget_acts()

    workspace = shelves.commit(make)
    yield workspace
    shelves.commit(forget)


@pytest.fixture
def over_http(url, shelf):
    return Line(url=url, secret=shelf.secret)


@pytest.fixture
def by_process(shelf, folder):
    return Line(secret=shelf.secret, environment=environment(folder, KEBAB_TOKEN=shelf.secret))


@pytest.fixture(
    params=[
        *(f"http-{era}" for era in ERAS),
        *(pytest.param(f"stdio-{era}", marks=pytest.mark.slow) for era in ERAS),
    ]
)
def line(request, url, shelf, folder):
    """Return a connection over each transport in each protocol era; those that start a process are slow."""
    way, era = request.param.split("-")
    if way == "http":
        return Line(url=url, secret=shelf.secret, era=era)
    return Line(secret=shelf.secret, era=era, environment=environment(folder, KEBAB_TOKEN=shelf.secret))
