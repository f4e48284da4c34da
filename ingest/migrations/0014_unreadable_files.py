"""The list of quarantined files has the refused ones, too, and its indexes cover both."""

from collections.abc import Mapping
from typing import ClassVar

from django.db import migrations, models

from kebab.tenancy.migration_operations import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("ingest", "0013_times_by_postgres")]

    safe_because: ClassVar[Mapping[int, str]] = dict.fromkeys(
        (3, 4), "the version before reads its few quarantined files by the new indexes"
    )

    operations = [
        migrations.AlterModelOptions(name="unreadable", options={"verbose_name": "unreadable file"}),
        AddIndexBeside(model_name="unreadable", index=models.Index(fields=["-at"], name="unreadable_newest")),
        AddIndexBeside(
            model_name="unreadable",
            index=models.Index(fields=["workspace", "-at"], name="unreadable_by_time"),
        ),
        migrations.RemoveIndex(model_name="unreadable", name="quarantine_newest"),
        migrations.RemoveIndex(model_name="unreadable", name="quarantine_by_time"),
    ]
