"""Documents that alerts were sent of, with the passages by which they matched."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

from kebab.tenancy.keys import Reference, composite_primary_key, foreign_key
from kebab.tenancy.policies import wall

TENANT = ("workspace_id",)


class Migration(migrations.Migration):
    dependencies = [
        ("search", "0036_filter_values_by_meaning"),
    ]

    operations = [
        migrations.CreateModel(
            name="AlertDocument",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "passages",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), size=None),
                ),
                (
                    "document",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="search.document",
                    ),
                ),
                (
                    "saved_search",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="alert_documents",
                        to="search.savedsearch",
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
                "indexes": [models.Index(fields=["workspace", "document"], name="alert_by_document")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "saved_search", "document"), name="alert_document_once"
                    )
                ],
            },
        ),
        composite_primary_key("search_alertdocument"),
        foreign_key(Reference("search_alertdocument", TENANT, "people_workspace", ("id",))),
        foreign_key(Reference("search_alertdocument", (*TENANT, "document_id"), "search_document")),
        foreign_key(Reference("search_alertdocument", (*TENANT, "saved_search_id"), "search_savedsearch")),
        wall("search_alertdocument"),
    ]
