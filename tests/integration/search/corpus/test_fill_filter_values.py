"""The migration that makes the metadata of the present documents filterable."""

from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import connection

from search.models import Document
from tests.support.corpus import make_workspace, write

pytestmark = pytest.mark.django_db


def test_documents_of_all_workspaces_get_their_values_in_batches(workspace, monkeypatch):
    migration = import_module("search.migrations.0036_filter_values_by_meaning")
    monkeypatch.setattr(migration, "_BATCH", 2)
    for number in range(3):
        write(workspace, f"{number}.md", "one", metadata={"year": 2020 + number})
    write(workspace, "bare.md", "one")
    write(make_workspace(), "other.md", "one", metadata={"team": "ops"})
    expected = list(Document.objects.order_by("pk").values())
    assert [row["filter_values"].get("year") for row in expected][:2] == [[2020.0], [2021.0]]
    Document.objects.update(filter_values={})
    for _ in range(2):
        migration.fill_filter_values(apps, SimpleNamespace(connection=connection))
        assert list(Document.objects.order_by("pk").values()) == expected
