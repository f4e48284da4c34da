"""Workspaces with files in them: one in the test's own transaction, and one for all tests of a module."""

import pytest
from django.conf import settings as django_settings
from django.test import override_settings
from rest_framework.test import APIClient

from tests.support.actors import token_client
from tests.support.api import committed
from tests.support.corpus import make_workspace
from tests.support.mirrors import sync_in_this_thread
from tests.support.schemas import check_response


def _storages(folder):
    storage = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": folder}}
    return {**django_settings.STORAGES, "default": storage}


@pytest.fixture(autouse=True)
def _node(mirrors, settings, tmp_path, monkeypatch):
    """No snapshot can begin in the test's transaction, and no other thread sees it."""
    settings.KEBAB_LEG_LIMIT_MS = 60_000
    settings.STORAGES = _storages(tmp_path / "blobs")
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
def _corpus(request, django_db_setup, django_db_blocker, tmp_path_factory):
    """A workspace that the module's `fill` has filled, its mirrors and its blobs, for tests that read."""
    mirrors = tmp_path_factory.mktemp(request.module.__name__.rpartition(".")[2].removeprefix("test_"))
    storages = _storages(tmp_path_factory.mktemp("blobs"))
    with (
        override_settings(STORAGES=storages),
        committed(django_db_blocker, mirrors, request.module.fill) as workspace,
    ):
        yield workspace, mirrors, storages


@pytest.fixture
def filled(db, _corpus, settings):
    """That workspace for one test, which may not write into it."""
    workspace, settings.KEBAB_MIRROR_DIR, settings.STORAGES = _corpus
    workspace.refresh_from_db()
    return workspace


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
