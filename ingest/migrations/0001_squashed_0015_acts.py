"""The tables of new installations, in one step in place of the 15 before it, which upgrades take."""

import uuid

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from kebab.tenancy.keys import Reference, composite_primary_key, foreign_key
from kebab.tenancy.policies import wall

TENANTS = ("job", "jobitem", "unreadable", "webpage")


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("ingest", "0001_initial"),
        ("ingest", "0002_tenancy"),
        ("ingest", "0003_delete_version"),
        ("ingest", "0004_source_revision"),
        ("ingest", "0005_archives"),
        ("ingest", "0006_web_pages"),
        ("ingest", "0007_row_level_security"),
        ("ingest", "0008_newest_work"),
        ("ingest", "0009_uploads_name_their_version"),
        ("ingest", "0010_evaluate"),
        ("ingest", "0011_gate"),
        ("ingest", "0012_causes_of_jobs"),
        ("ingest", "0013_times_by_postgres"),
        ("ingest", "0014_unreadable_files"),
        ("ingest", "0015_acts"),
    ]

    dependencies = [
        ("people", "0008_user_preferences"),
        ("search", "0027_bookmarks"),
    ]

    operations = [
        migrations.CreateModel(
            name="Job",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("sync_source", "Sync Source"),
                            ("ingest_document", "Ingest Document"),
                            ("ingest_archive", "Ingest Archive"),
                            ("delete_source", "Delete Source"),
                            ("delete_version", "Delete Version"),
                            ("embed", "Embed"),
                            ("evaluate", "Evaluate"),
                            ("rechunk", "Rechunk"),
                            ("gate", "Gate"),
                        ],
                        max_length=16,
                    ),
                ),
                ("payload", models.JSONField(blank=True, default=dict)),
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
                ("attempt", models.IntegerField(default=0)),
                ("stalled_attempts", models.IntegerField(default=0)),
                ("due_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("hinted_at", models.DateTimeField(blank=True, null=True)),
                ("cancel_requested", models.BooleanField(default=False)),
                ("rerun_requested", models.BooleanField(default=False)),
                ("discovered_at", models.DateTimeField(blank=True, null=True)),
                ("items_total", models.IntegerField(default=0)),
                ("items_done", models.IntegerField(default=0)),
                ("bytes_done", models.BigIntegerField(default=0)),
                ("chunks_done", models.IntegerField(default=0)),
                ("calls", models.IntegerField(default=0)),
                ("counts", models.JSONField(blank=True, default=dict)),
                ("current_path", models.CharField(blank=True, default="", max_length=1000)),
                ("error", models.TextField(blank=True, default="")),
                ("seq", models.BigIntegerField(blank=True, null=True)),
                ("requested_by", models.CharField(blank=True, default="", max_length=320)),
                ("batch", models.UUIDField(blank=True, null=True)),
                ("refused_items", models.IntegerField(db_default=0, default=0)),
                ("needs_attention", models.BooleanField(db_default=False, default=False)),
                ("request_id", models.CharField(blank=True, db_default="", default="", max_length=64)),
                ("traceparent", models.CharField(blank=True, db_default="", default="", max_length=64)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "source",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="jobs",
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
                    models.Index(fields=["workspace", "-created_at"], name="job_by_time"),
                    models.Index(fields=["-created_at"], name="job_newest"),
                    models.Index(
                        condition=models.Q(("state__in", ("queued", "running"))),
                        fields=["workspace", "due_at"],
                        name="job_open",
                    ),
                    models.Index(
                        condition=models.Q(("batch__isnull", True)),
                        fields=["workspace", "-created_at", "id"],
                        name="job_acts",
                    ),
                    models.Index(
                        condition=models.Q(("batch__isnull", False)),
                        fields=["workspace", "batch"],
                        name="job_by_batch",
                    ),
                    models.Index(
                        condition=models.Q(("needs_attention", True)),
                        fields=["workspace"],
                        name="job_attention",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ["queued", "running", "succeeded", "failed", "cancelled"])
                        ),
                        name="job_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "kind__in",
                                [
                                    "sync_source",
                                    "ingest_document",
                                    "ingest_archive",
                                    "delete_source",
                                    "delete_version",
                                    "embed",
                                    "evaluate",
                                    "rechunk",
                                    "gate",
                                ],
                            )
                        ),
                        name="job_kind_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ("queued", "running")),
                            ("finished_at__isnull", False),
                            _connector="OR",
                        ),
                        name="job_end_has_time",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("kind", "sync_source"), ("state", "running")),
                        fields=("workspace", "source"),
                        name="job_one_running_sync",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("kind", "embed"), ("state__in", ("queued", "running"))),
                        fields=("workspace",),
                        name="job_one_embedding",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Unreadable",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("path", models.CharField(max_length=1000)),
                ("size_bytes", models.BigIntegerField()),
                ("source_mtime_ns", models.BigIntegerField(blank=True, null=True)),
                ("source_revision", models.CharField(blank=True, db_default="", default="", max_length=200)),
                ("content_hash", models.CharField(max_length=64)),
                ("parser_version", models.CharField(max_length=64)),
                ("is_quarantined", models.BooleanField()),
                ("reason", models.CharField(max_length=64)),
                ("detail", models.TextField(blank=True)),
                ("at", models.DateTimeField(auto_now=True)),
                (
                    "version",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="unreadable",
                        to="search.sourceversion",
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
                "verbose_name": "unreadable file",
                "indexes": [
                    models.Index(fields=["-at"], name="unreadable_newest"),
                    models.Index(fields=["workspace", "-at"], name="unreadable_by_time"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "version", "path"), name="unreadable_once")
                ],
            },
        ),
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
        migrations.CreateModel(
            name="JobItem",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("path", models.CharField(max_length=1000)),
                (
                    "action",
                    models.CharField(choices=[("ingest", "ingest"), ("delete", "delete")], max_length=6),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("pending", "Pending"), ("done", "Done"), ("failed", "Failed")],
                        default="pending",
                        max_length=7,
                    ),
                ),
                ("attempts", models.IntegerField(default=0)),
                ("outcome", models.CharField(blank=True, default="", max_length=10)),
                ("reason", models.CharField(blank=True, default="", max_length=64)),
                ("detail", models.TextField(blank=True, default="")),
                ("blob", models.CharField(blank=True, db_default="", default="", max_length=64)),
                (
                    "job",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="items",
                        to="ingest.job",
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
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "pending")),
                        fields=["workspace", "job", "id"],
                        name="item_pending",
                    ),
                    models.Index(
                        condition=models.Q(("blob", ""), _negated=True),
                        fields=["workspace", "blob"],
                        name="item_blob",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "job", "path"), name="item_path_once"),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["pending", "done", "failed"])),
                        name="item_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("action__in", ("ingest", "delete"))), name="item_action_known"
                    ),
                ],
            },
        ),
        *(composite_primary_key(f"ingest_{name}") for name in TENANTS),
        foreign_key(Reference("ingest_job", ("workspace_id",), "people_workspace", ("id",))),
        foreign_key(
            Reference(
                "ingest_job", ("workspace_id", "source_id"), "search_source", on_delete="SET NULL (source_id)"
            )
        ),
        foreign_key(Reference("ingest_jobitem", ("workspace_id", "job_id"), "ingest_job")),
        foreign_key(Reference("ingest_unreadable", ("workspace_id", "version_id"), "search_sourceversion")),
        foreign_key(Reference("ingest_webpage", ("workspace_id", "source_id"), "search_source")),
        *(wall(f"ingest_{name}") for name in TENANTS),
    ]
