"""Values of the metadata of present documents as they are compared, beside those who search and write."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.db import migrations, transaction

from search.retrieval.query.metadata import filter_values

_BATCH = 500


def fill_filter_values(apps: Any, schema_editor: Any) -> None:
    """Set the values of each document that has metadata; run again, it sets the same ones."""
    alias = schema_editor.connection.alias
    documents = apps.get_model("search", "Document").objects.using(alias).exclude(metadata={})
    workspaces = apps.get_model("people", "Workspace").objects.using(alias)
    for workspace_id in list(workspaces.values_list("id", flat=True)):
        # The workspace is the first half of the primary key.
        _fill_workspace(documents.filter(workspace_id=workspace_id), alias)


def _fill_workspace(documents: Any, alias: str) -> None:
    after = 0
    while ids := list(documents.filter(id__gt=after).order_by("id").values_list("id", flat=True)[:_BATCH]):
        after = ids[-1]
        with transaction.atomic(using=alias):
            # The lock order of writers.
            locked = documents.filter(id__in=ids).order_by("doc_id").select_for_update(no_key=True)
            found = list(locked.only("metadata"))
            for document in found:
                document.filter_values = filter_values(document.metadata)
            documents.bulk_update(found, ["filter_values"])


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("search", "0035_chunk_plain")]

    safe_because: ClassVar[Mapping[int, str]] = {
        0: "it adds values that the version before passes over, a few hundred rows at a time"
    }

    operations = [migrations.RunPython(fill_filter_values, migrations.RunPython.noop, elidable=True)]
