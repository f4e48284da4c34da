"""A workspace that is committed once for a module, and every way to ask about it."""

import pytest
from django.test import override_settings

from kebab.people.tokens import mint_token
from tests.api.making import committed
from tests.mcp.serving import served
from tests.mcp.shelf import Shelf, fill
from tests.mcp.speaking import ERAS, Line, environment


@pytest.fixture(autouse=True)
def _database(db):
    """Have the test database made. The server sees what is committed, and nothing of a test's own."""


@pytest.fixture(scope="session")
def url(django_db_setup):
    with served() as address:
        yield address


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the module's mirrors and blobs lie."""
    return tmp_path_factory.mktemp("mcp")


@pytest.fixture(scope="module")
def shelf(django_db_setup, django_db_blocker, folder):
    from django.conf import settings

    files = {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": folder / "blobs"},
    }
    storages = {**settings.STORAGES, "default": files}
    with (
        override_settings(STORAGES=storages, KEBAB_MIRROR_DIR=folder / "mirrors", KEBAB_LEG_LIMIT_MS=60_000),
        committed(django_db_blocker, folder / "mirrors", fill) as workspace,
        django_db_blocker.unblock(),
    ):
        _, secret = mint_token(workspace, scopes=("search", "ask", "ingest", "manage"))
        yield Shelf(workspace=workspace, secret=secret)


@pytest.fixture
def over_http(url, shelf):
    return Line(url=url, secret=shelf.secret)


@pytest.fixture
def by_process(shelf, folder):
    return Line(secret=shelf.secret, environment=environment(folder, KEBAB_TOKEN=shelf.secret))


@pytest.fixture(params=[f"{way}-{era}" for way in ("http", "stdio") for era in ERAS])
def line(request, url, shelf, folder):
    """Each transport, in each era."""
    way, era = request.param.split("-")
    if way == "http":
        return Line(url=url, secret=shelf.secret, era=era)
    return Line(secret=shelf.secret, era=era, environment=environment(folder, KEBAB_TOKEN=shelf.secret))
