"""A workspace with files in it, in the test's own transaction."""

import pytest
from rest_framework.test import APIClient

from tests.support.actors import token_client
from tests.support.corpus import make_workspace
from tests.support.mirrors import sync_in_this_thread
from tests.support.schemas import check_response


@pytest.fixture(autouse=True)
def _node(mirrors, settings, tmp_path, monkeypatch):
    """No snapshot can begin in the test's transaction, and no other thread sees it."""
    settings.KEBAB_LEG_LIMIT_MS = 60_000
    storage = {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": tmp_path / "blobs"},
    }
    settings.STORAGES = {**settings.STORAGES, "default": storage}
    sync_in_this_thread(monkeypatch)


@pytest.fixture(autouse=True)
def _answers_are_as_their_schema_says(monkeypatch):
    request = APIClient.request

    def checked(client, **options):
        response = request(client, **options)
        check_response(response)
        return response

    monkeypatch.setattr(APIClient, "request", checked)


@pytest.fixture
def workspace(db):
    return make_workspace()


@pytest.fixture
def other_workspace(db):
    return make_workspace()


@pytest.fixture
def reader(workspace):
    return token_client(workspace, "search")


@pytest.fixture
def ask_for(reader, workspace):
    """Ask for a context pack over HTTP, and give it."""

    def post(information_request, **body):
        response = reader.post(
            f"/api/v1/workspaces/{workspace.slug}/context-pack",
            {"information_request": information_request, **body},
            format="json",
        )
        assert response.status_code == 200, response.content
        return response.json()

    return post
