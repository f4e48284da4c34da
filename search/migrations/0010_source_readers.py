"""Sources that only some groups may read."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

from kebab.tenancy.keys import Reference, composite_primary_key, foreign_key

TENANT = ("workspace_id",)


class Migration(migrations.Migration):
    dependencies = [
        ("people", "0002_groups"),
        ("search", "0009_source_schedule"),
    ]

    operations = [
        migrations.AddField(
            model_name="source",
            name="is_restricted",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.CreateModel(
            name="SourceReader",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="people.group"
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="readers",
                        to="search.source",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="people.workspace",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "source", "group"), name="source_reader_once"
                    )
                ],
            },
        ),
        migrations.AddIndex(
            model_name="source",
            index=models.Index(
                condition=models.Q(("is_restricted", True)), fields=["workspace"], name="source_restricted"
            ),
        ),
        composite_primary_key("search_sourcereader"),
        foreign_key(Reference("search_sourcereader", TENANT, "people_workspace", ("id",))),
        foreign_key(Reference("search_sourcereader", (*TENANT, "source_id"), "search_source")),
        foreign_key(Reference("search_sourcereader", (*TENANT, "group_id"), "people_group")),
    ]
