"""The migration that gives the present documents their date and author."""

from datetime import UTC, datetime
from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import connection

from search.models import Document
from tests.support.corpus import make_workspace, write

pytestmark = pytest.mark.django_db
LONG_AGO = datetime(1990, 1, 1, tzinfo=UTC)


def test_documents_of_all_workspaces_get_date_and_author_in_batches(workspace, monkeypatch):
    migration = import_module("search.migrations.0026_date_documents")
    monkeypatch.setattr(migration, "_BATCH", 2)
    write(workspace, "stated.md", "one", metadata={"author": "Ada", "date": "2020-01-01"})
    write(workspace, "file.md", "one", source_mtime_ns=1_600_000_000_000_000_000)
    write(make_workspace(), "indexed.md", "one")
    expected = list(Document.objects.order_by("pk").values())
    Document.objects.update(author="", dated_at=LONG_AGO)
    for _ in range(2):
        migration.date_documents(apps, SimpleNamespace(connection=connection))
        assert list(Document.objects.order_by("pk").values()) == expected
    assert [row["author"] for row in expected] == ["Ada", "", ""]
    assert expected[1]["dated_at"].timestamp() == 1_600_000_000
