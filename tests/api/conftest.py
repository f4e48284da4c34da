"""Workspaces with servers behind them, and clients that act in them."""

import pytest
from rest_framework.test import APIClient

from tests.api.schemas import check_response
from tests.api_plumbing.actors import make_workspace, token_client


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


@pytest.fixture
def other_workspace(db):
    return make_workspace()


@pytest.fixture
def client(workspace):
    return token_client(workspace, "search", "ingest")


@pytest.fixture
def reader(workspace):
    return token_client(workspace, "search")
