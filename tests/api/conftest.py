"""Workspaces with servers behind them, and clients that act in them."""

import pytest
import redis
from django.conf import settings as django_settings
from rest_framework.test import APIClient

from kebab.stack.addresses import redis_client_url
from tests.support.actors import make_workspace, token_client
from tests.support.api import address, committed
from tests.support.schemas import check_response


@pytest.fixture(autouse=True)
def _stores(settings, tmp_path, mirrors):
    settings.STORAGES = {
        **settings.STORAGES,
        "default": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": tmp_path / "blobs"},
        },
    }


@pytest.fixture(autouse=True)
def _responses_are_as_their_schemas_say(monkeypatch):
    """Hold every answer and every problem of these tests to its schema, whatever the test looks at."""
    request = APIClient.request

    def checked(client, **options):
        response = request(client, **options)
        check_response(response)
        return response

    monkeypatch.setattr(APIClient, "request", checked)


@pytest.fixture
def workspace(db):
    return make_workspace()


@pytest.fixture(scope="module")
def corpus(request, django_db_setup, django_db_blocker, tmp_path_factory):
    """A workspace that the module's `fill` has filled, once for all tests, and its mirrors."""
    name = request.module.__name__.rpartition(".")[2]
    mirrors = tmp_path_factory.mktemp(name.removeprefix("test_"))
    with committed(django_db_blocker, mirrors, request.module.fill) as workspace:
        yield workspace, mirrors


@pytest.fixture
def filled(db, corpus, settings):
    """That workspace for one test; no leg of a search in it is stopped, however busy the machine."""
    workspace, settings.KEBAB_MIRROR_DIR = corpus
    settings.KEBAB_LEG_LIMIT_MS = 60_000
    workspace.refresh_from_db()
    return workspace


@pytest.fixture
def other_workspace(db):
    return make_workspace()


@pytest.fixture
def client(workspace):
    return token_client(workspace, "search", "ingest")


@pytest.fixture
def reader(workspace):
    return token_client(workspace, "search")


@pytest.fixture
def store():
    with redis.Redis.from_url(redis_client_url(django_settings.REDIS_URL)) as client:
        yield client


@pytest.fixture
def ask(reader, workspace):
    def ask(**given):
        response = reader.post(address(workspace, "/search"), given, format="json")
        assert response.status_code == 200, response.content
        return response.json()

    return ask


@pytest.fixture
def refusal(reader, workspace):
    def refusal(client=None, of=None, **given):
        response = (client or reader).post(address(of or workspace, "/search"), given, format="json")
        return response.status_code, response.json()

    return refusal
