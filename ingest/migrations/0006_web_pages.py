"""What is remembered of web sites' pages."""

import django.db.models.deletion
from django.db import migrations, models

from kebab.tenancy.keys import Reference, composite_primary_key, foreign_key


class Migration(migrations.Migration):
    dependencies = [
        ("ingest", "0005_archives"),
        ("search", "0007_source_kinds"),
    ]

    operations = [
        migrations.CreateModel(
            name="WebPage",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("key", models.CharField(max_length=1000)),
                ("url", models.CharField(max_length=2000)),
                ("path", models.CharField(max_length=1000)),
                ("is_listed", models.BooleanField(default=False)),
                ("is_noindex", models.BooleanField(default=False)),
                ("etag", models.CharField(blank=True, default="", max_length=500)),
                ("last_modified", models.CharField(blank=True, default="", max_length=100)),
                ("content_hash", models.CharField(blank=True, default="", max_length=64)),
                ("size_bytes", models.BigIntegerField(default=0)),
                ("links", models.JSONField(blank=True, default=list)),
                ("canonical", models.CharField(blank=True, default="", max_length=1000)),
                ("error", models.CharField(blank=True, default="", max_length=500)),
                ("leads_to", models.CharField(blank=True, default="", max_length=4000)),
                ("skipped", models.CharField(blank=True, default="", max_length=64)),
                ("seen_by", models.UUIDField(blank=True, null=True)),
                ("at", models.DateTimeField(auto_now=True)),
                (
                    "source",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="pages",
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
                "indexes": [models.Index(fields=["workspace", "content_hash"], name="web_page_by_content")],
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "source", "key"), name="web_page_once")
                ],
            },
        ),
        composite_primary_key("ingest_webpage"),
        foreign_key(Reference("ingest_webpage", ("workspace_id", "source_id"), "search_source")),
    ]
