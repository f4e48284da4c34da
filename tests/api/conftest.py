"""Workspaces with servers behind them, and clients that act in them."""

import pytest

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
