"""Kinds of sources without a constraint: what creates a source validates its kind."""

from collections.abc import Mapping
from typing import ClassVar

from django.db import migrations, models

from search.models.source_kind import source_kinds


class Migration(migrations.Migration):
    dependencies = [("search", "0033_source_cursors")]

    safe_because: ClassVar[Mapping[int, str]] = {
        0: "the version before validates kinds itself, and dropping a constraint rewrites and reads no row"
    }

    operations = [
        migrations.RemoveConstraint(model_name="source", name="source_kind_known"),
        migrations.AlterField(
            model_name="source", name="kind", field=models.CharField(choices=source_kinds, max_length=10)
        ),
    ]
