"""Fixtures of context tests: workspaces with files, for one test or for a module."""

import pytest

from tests.support.actors import token_client
from tests.support.mirrors import sync_in_this_thread
from tests.support.schemas import check_every_response


@pytest.fixture(autouse=True)
def _node(mirrors, blobs, monkeypatch):
    """Sync mirrors in this thread: other threads do not see the test's transaction."""
    sync_in_this_thread(monkeypatch)


@pytest.fixture(autouse=True)
def _answers_are_as_their_schema_says(monkeypatch):
    check_every_response(monkeypatch)


@pytest.fixture
def reader(workspace):
    return token_client(workspace, "search")


@pytest.fixture
def ask_for(reader, workspace):
    """Return a function that asks for a context pack over HTTP."""

    def post(information_request, **body):
        response = reader.post(
            f"/api/v1/workspaces/{workspace.slug}/context-pack",
            {"information_request": information_request, **body},
            format="json",
        )
        assert response.status_code == 200, response.content
        return response.json()

    return post
