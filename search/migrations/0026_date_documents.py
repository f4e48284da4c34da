"""Dates and authors of the present documents, and an index on dates, beside those who search and write."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.db import migrations, models, transaction

from kebab.tenancy.migration_operations import AddIndexBeside
from search.retrieval.document_date import known_date, stated_author, time_of_ns

_BATCH = 500


def date_documents(apps: Any, schema_editor: Any) -> None:
    """Set the date and the author of each document; run again, it sets the same ones."""
    alias = schema_editor.connection.alias
    documents = apps.get_model("search", "Document").objects.using(alias)
    workspaces = apps.get_model("people", "Workspace").objects.using(alias)
    for workspace_id in list(workspaces.values_list("id", flat=True)):
        # The workspace is the first half of the primary key.
        _date_workspace(documents.filter(workspace_id=workspace_id), alias)


def _date_workspace(documents: Any, alias: str) -> None:
    after = 0
    while ids := list(documents.filter(id__gt=after).order_by("id").values_list("id", flat=True)[:_BATCH]):
        after = ids[-1]
        with transaction.atomic(using=alias):
            # The lock order of writers.
            locked = documents.filter(id__in=ids).order_by("doc_id").select_for_update(no_key=True)
            found = list(locked.only("metadata", "source_mtime_ns", "indexed_at"))
            for document in found:
                document.author = stated_author(document.metadata)
                modified_at = time_of_ns(document.source_mtime_ns)
                known = known_date(document.metadata, modified_at=modified_at)
                document.dated_at = known or document.indexed_at
            documents.bulk_update(found, ["author", "dated_at"])


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("search", "0025_document_dates")]

    safe_because: ClassVar[Mapping[int, str]] = {
        0: "it writes columns that the version before doesn't know, a few hundred rows at a time"
    }

    operations = [
        migrations.RunPython(date_documents, migrations.RunPython.noop, elidable=True),
        AddIndexBeside(
            model_name="document",
            index=models.Index(fields=["workspace", "dated_at", "id"], name="document_by_date"),
        ),
    ]
