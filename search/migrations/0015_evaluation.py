"""Topics, judgements, runs and feedback: what a workspace measures its search by."""

import uuid

import django.db.models.deletion
from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models

from kebab.tenancy.keys import Reference, composite_primary_key, foreign_key
from kebab.tenancy.policies import wall

TENANT = ("workspace_id",)
TABLES = ("topic", "judgement", "run", "runtopic", "feedback")


class Migration(migrations.Migration):
    dependencies = [
        ("search", "0014_readers_by_workspace"),
    ]

    operations = [
        migrations.CreateModel(
            name="Run",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("name", models.CharField(blank=True, default="", max_length=100)),
                ("topic_set", models.CharField(max_length=64)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("succeeded", "Succeeded"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                ("job_id", models.UUIDField(blank=True, null=True)),
                ("settings", models.JSONField(default=dict)),
                ("measures", models.JSONField(default=list)),
                ("record", models.JSONField(default=dict)),
                ("figures", models.JSONField(default=dict)),
                (
                    "sources",
                    ArrayField(
                        base_field=models.CharField(blank=True, max_length=63),
                        blank=True,
                        default=list,
                        size=None,
                    ),
                ),
                ("error", models.TextField(blank=True, default="")),
                ("created_by", models.CharField(blank=True, default="", max_length=320)),
                ("creator", models.CharField(blank=True, default="", max_length=320)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
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
                "ordering": ("-created_at", "id"),
            },
        ),
        migrations.CreateModel(
            name="RunTopic",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("ordinal", models.PositiveIntegerField()),
                ("topic_id", models.CharField(max_length=100)),
                ("text", models.TextField()),
                ("filters", models.JSONField(blank=True, default=dict)),
                ("is_unanswerable", models.BooleanField(default=False)),
                ("judgements", models.JSONField(blank=True, default=list)),
                ("ranking", models.JSONField(blank=True, null=True)),
                ("measures", models.JSONField(blank=True, default=dict)),
                ("ms", models.FloatField(blank=True, null=True)),
                ("is_empty", models.BooleanField(blank=True, null=True)),
                ("is_refused", models.BooleanField(blank=True, null=True)),
                (
                    "degraded",
                    ArrayField(
                        base_field=models.CharField(max_length=20), blank=True, default=list, size=None
                    ),
                ),
                ("index_version", models.CharField(blank=True, default="", max_length=500)),
                (
                    "run",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="topics",
                        to="search.run",
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
                "ordering": ("ordinal",),
            },
        ),
        migrations.CreateModel(
            name="Topic",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("topic_set", models.CharField(default="golden", max_length=64)),
                ("topic_id", models.CharField(max_length=100)),
                ("text", models.TextField(max_length=20000)),
                ("filters", models.JSONField(blank=True, default=dict)),
                ("is_unanswerable", models.BooleanField(default=False)),
                (
                    "origin",
                    models.CharField(
                        choices=[("golden", "Golden"), ("imported", "Imported"), ("feedback", "Feedback")],
                        default="golden",
                        max_length=10,
                    ),
                ),
                ("created_by", models.CharField(blank=True, default="", max_length=320)),
                ("creator", models.CharField(blank=True, default="", max_length=320)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
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
                "ordering": ("topic_set", "topic_id"),
            },
        ),
        migrations.CreateModel(
            name="Judgement",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("version", models.CharField(blank=True, default="", max_length=200)),
                ("path", models.CharField(max_length=1000)),
                ("fragment", models.CharField(blank=True, default="", max_length=100)),
                ("grade", models.SmallIntegerField()),
                ("place_key", models.UUIDField(editable=False)),
                (
                    "source",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
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
                (
                    "topic",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="judgements",
                        to="search.topic",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Feedback",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("query", models.TextField(max_length=20000)),
                ("version", models.CharField(blank=True, default="", max_length=200)),
                ("path", models.CharField(max_length=1000)),
                ("fragment", models.CharField(blank=True, default="", max_length=100)),
                ("is_relevant", models.BooleanField()),
                ("actor", models.CharField(max_length=320)),
                ("creator", models.CharField(max_length=320)),
                ("query_key", models.UUIDField(editable=False)),
                ("place_key", models.UUIDField(editable=False)),
                ("created_at", models.DateTimeField(auto_now=True)),
                (
                    "source",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
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
                "ordering": ("-created_at", "id"),
                "indexes": [
                    models.Index(fields=["workspace", "-created_at"], name="feedback_by_time"),
                    models.Index(fields=["workspace", "query_key"], name="feedback_by_query"),
                    models.Index(fields=["workspace", "source"], name="feedback_by_source"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "creator", "query_key", "place_key"), name="feedback_once"
                    )
                ],
            },
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["workspace", "-created_at"], name="run_by_time"),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["queued", "running", "succeeded", "failed", "cancelled"])),
                name="run_state_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="runtopic",
            constraint=models.UniqueConstraint(
                fields=("workspace", "run", "ordinal"), name="run_topic_place_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="runtopic",
            constraint=models.UniqueConstraint(
                fields=("workspace", "run", "topic_id"), name="run_topic_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="topic",
            constraint=models.UniqueConstraint(
                fields=("workspace", "topic_set", "topic_id"), name="topic_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="topic",
            constraint=models.CheckConstraint(
                condition=models.Q(("origin__in", ["golden", "imported", "feedback"])),
                name="topic_origin_known",
            ),
        ),
        migrations.AddIndex(
            model_name="judgement",
            index=models.Index(fields=["workspace", "source"], name="judgement_by_source"),
        ),
        migrations.AddConstraint(
            model_name="judgement",
            constraint=models.UniqueConstraint(
                fields=("workspace", "topic", "place_key"), name="judgement_once"
            ),
        ),
        *(composite_primary_key(f"search_{name}") for name in TABLES),
        *(
            foreign_key(Reference(f"search_{name}", TENANT, "people_workspace", ("id",)))
            for name in ("topic", "run", "feedback")
        ),
        foreign_key(Reference("search_judgement", (*TENANT, "topic_id"), "search_topic")),
        foreign_key(Reference("search_judgement", (*TENANT, "source_id"), "search_source")),
        foreign_key(Reference("search_runtopic", (*TENANT, "run_id"), "search_run")),
        foreign_key(Reference("search_feedback", (*TENANT, "source_id"), "search_source")),
        *(wall(f"search_{name}") for name in TABLES),
    ]
