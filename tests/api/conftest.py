"""Fixtures of API tests: workspaces with stores of their own, and clients that act in them."""

import pytest
import redis
from django.conf import settings as django_settings

from kebab.stack.servers.addresses import redis_client_url
from tests.support.actors import token_client
from tests.support.api import address
from tests.support.schemas import check_every_response


@pytest.fixture(autouse=True)
def _stores(blobs, mirrors):
    """Keep blobs and mirrors in the test's own folder."""


@pytest.fixture(autouse=True)
def _responses_are_as_their_schemas_say(monkeypatch):
    """Validate every response of these tests against its schema."""
    check_every_response(monkeypatch)


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
