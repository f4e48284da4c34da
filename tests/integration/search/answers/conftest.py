"""A workspace with a few guides in it, in the test's own transaction, and models to answer from them."""

import pytest
from django.conf import settings as django_settings
from django.test import override_settings
from rest_framework.test import APIClient

from tests.integration.search.answers.fixtures import use, use_model_at  # noqa: F401  fixtures
from tests.integration.search.answers.guides import put_guides
from tests.integration.search.context.filling import index
from tests.support.actors import token_client
from tests.support.api import committed
from tests.support.corpus import make_workspace
from tests.support.mirrors import sync_in_this_thread
from tests.support.schemas import check_response


@pytest.fixture(autouse=True)
def _node(mirrors, blobs, settings, monkeypatch):
    """No snapshot can begin in the test's transaction, and no other thread sees it."""
    settings.KEBAB_LEG_LIMIT_MS = 60_000
    sync_in_this_thread(monkeypatch)


@pytest.fixture(autouse=True)
def _answers_are_as_their_schema_says(monkeypatch):
    request = APIClient.request

    def checked(client, **options):
        response = request(client, **options)
        check_response(response)
        return response

    monkeypatch.setattr(APIClient, "request", checked)


@pytest.fixture(scope="module")
def corpus(request, django_db_setup, django_db_blocker, tmp_path_factory):
    """A workspace that the module's `fill` has filled, committed once, and its mirrors, or None."""
    fill = getattr(request.module, "fill", None)
    if fill is None:
        yield None
        return
    folder = tmp_path_factory.mktemp("answers")
    blobs = {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": folder / "blobs"},
    }
    with (
        override_settings(STORAGES={**django_settings.STORAGES, "default": blobs}),
        committed(django_db_blocker, folder / "mirrors", fill) as workspace,
    ):
        yield workspace, folder / "mirrors"


@pytest.fixture
def workspace(corpus, db, settings):
    """An empty workspace, or the committed one of the module."""
    if corpus is None:
        return make_workspace()
    workspace, settings.KEBAB_MIRROR_DIR = corpus
    workspace.refresh_from_db()
    return workspace


@pytest.fixture
def guides(workspace):
    """A workspace that holds the guides."""
    put_guides(workspace)
    index(workspace)
    workspace.refresh_from_db()
    return workspace


@pytest.fixture
def asker(workspace):
    return token_client(workspace, "ask")


@pytest.fixture
def ask(asker, workspace):
    """Ask over HTTP, and give the answer."""

    def post(question, client=asker, **body):
        at = f"/api/v1/workspaces/{workspace.slug}/ask"
        response = client.post(at, {"question": question, **body}, format="json")
        assert response.status_code == 200, response.content
        return response.json()

    return post
