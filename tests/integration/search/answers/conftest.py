"""Fixtures of answer tests: a workspace with a few guides, and models that answer from them."""

import pytest

from tests.integration.search.answers.fixtures import use, use_model_at  # noqa: F401  fixtures
from tests.integration.search.answers.guides import put_guides
from tests.integration.search.context.workspace_files import index
from tests.support.actors import token_client
from tests.support.corpus import make_workspace
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
def workspace(request, corpus, db):
    """Return an empty workspace, or the committed one of the module."""
    return request.getfixturevalue("filled") if corpus else make_workspace()


@pytest.fixture
def guides(workspace):
    """Return a workspace that holds the guides."""
    put_guides(workspace)
    index(workspace)
    workspace.refresh_from_db()
    return workspace


@pytest.fixture
def asker(workspace):
    return token_client(workspace, "ask")


@pytest.fixture
def ask(asker, workspace):
    """Ask over HTTP, and return the answer."""

    def post(question, client=asker, **body):
        at = f"/api/v1/workspaces/{workspace.slug}/ask"
        response = client.post(at, {"question": question, **body}, format="json")
        assert response.status_code == 200, response.content
        return response.json()

    return post
