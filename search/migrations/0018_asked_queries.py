"""Which queries were asked of a workspace."""

import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

from kebab.tenancy.keys import Reference, composite_primary_key, foreign_key
from kebab.tenancy.policies import wall

TABLE = "search_askedquery"


class Migration(migrations.Migration):
    dependencies = [
        ("search", "0017_kept_answers"),
    ]

    operations = [
        migrations.CreateModel(
            name="AskedQuery",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("text", models.CharField(blank=True, max_length=500)),
                ("folded", models.CharField(blank=True, max_length=500)),
                (
                    "door",
                    models.CharField(
                        choices=[("page", "Page"), ("api", "Api"), ("mcp", "Mcp"), ("cli", "Cli")],
                        max_length=10,
                    ),
                ),
                ("mode", models.CharField(max_length=10)),
                ("hits", models.PositiveIntegerField()),
                ("lexical_total", models.BigIntegerField(blank=True, null=True)),
                ("took_ms", models.FloatField()),
                (
                    "degraded",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=20), blank=True, default=list, size=None
                    ),
                ),
                ("asked_at", models.DateTimeField()),
                ("typist", models.CharField(blank=True, default="", max_length=32)),
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
                "ordering": ("-asked_at", "id"),
                "indexes": [
                    models.Index(fields=["workspace", "-asked_at"], name="asked_by_time"),
                    models.Index(fields=["workspace", "folded", "-asked_at"], name="asked_by_text"),
                    models.Index(
                        condition=models.Q(("typist", ""), _negated=True),
                        fields=["workspace", "typist", "asked_at"],
                        name="asked_by_typist",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("door__in", ["page", "api", "mcp", "cli"])),
                        name="asked_door_known",
                    )
                ],
            },
        ),
        composite_primary_key(TABLE),
        foreign_key(Reference(TABLE, ("workspace_id",), "people_workspace", ("id",))),
        wall(TABLE),
    ]
