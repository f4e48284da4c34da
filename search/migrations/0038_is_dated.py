"""Documents that only have the date of their indexing, beside those who search and write."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.db import migrations, models
from django.db.models import F

_BATCH = 500


def mark_undated(apps: Any, schema_editor: Any) -> None:
    """Mark the documents whose date is that of their indexing; run again, it marks the same ones."""
    alias = schema_editor.connection.alias
    documents = apps.get_model("search", "Document").objects.using(alias)
    workspaces = apps.get_model("people", "Workspace").objects.using(alias)
    for workspace_id in list(workspaces.values_list("id", flat=True)):
        # The workspace is the first half of the primary key.
        undated = documents.filter(workspace_id=workspace_id, is_dated=True, dated_at=F("indexed_at"))
        while ids := list(undated.order_by("id").values_list("id", flat=True)[:_BATCH]):
            documents.filter(workspace_id=workspace_id, id__in=ids).update(is_dated=False)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("search", "0037_alert_documents")]

    safe_because: ClassVar[Mapping[int, str]] = {
        1: "it writes a column that the version before doesn't know, a few hundred rows at a time"
    }

    operations = [
        migrations.AddField(
            model_name="document",
            name="is_dated",
            field=models.BooleanField(db_default=True),
        ),
        migrations.RunPython(mark_undated, migrations.RunPython.noop, elidable=True),
    ]
