"""Documents that people have bookmarked."""

import django.db.models.deletion
from django.db import migrations, models

from kebab.tenancy.keys import Reference, composite_primary_key, foreign_key
from kebab.tenancy.policies import wall

TENANT = ("workspace_id",)


class Migration(migrations.Migration):
    dependencies = [
        ("search", "0026_date_documents"),
    ]

    operations = [
        migrations.CreateModel(
            name="Bookmark",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("creator", models.CharField(max_length=320)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "document",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="bookmarks",
                        to="search.document",
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
                "indexes": [models.Index(fields=["workspace", "document"], name="bookmark_by_document")],
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "creator", "document"), name="bookmark_once")
                ],
            },
        ),
        composite_primary_key("search_bookmark"),
        foreign_key(Reference("search_bookmark", TENANT, "people_workspace", ("id",))),
        foreign_key(Reference("search_bookmark", (*TENANT, "document_id"), "search_document")),
        wall("search_bookmark"),
    ]
