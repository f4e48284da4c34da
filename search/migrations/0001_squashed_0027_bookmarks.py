"""The tables of new installations, in one step in place of the 27 before it, which upgrades take."""

import uuid

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.text
import pgvector.django.halfvec
from django.db import migrations, models

import search.models.vector
from kebab.tenancy.keys import Reference, composite_primary_key, foreign_key
from kebab.tenancy.policies import wall

TENANT = ("workspace_id",)
KEYED = (
    "answerdocument",
    "askedquery",
    "bookmark",
    "document",
    "embeddingspace",
    "feedback",
    "judgement",
    "keptanswer",
    "run",
    "runtopic",
    "source",
    "sourcereader",
    "sourceversion",
    "topic",
)
# Tables that belong to a workspace without another table between, and references to tables of the workspace.
OWNED = (
    "askedquery",
    "bookmark",
    "change",
    "embeddingspace",
    "feedback",
    "keptanswer",
    "run",
    "source",
    "sourcereader",
    "topic",
)
REFERENCES = (
    ("answerdocument", "answer_id", "keptanswer"),
    ("answerdocument", "document_id", "document"),
    ("bookmark", "document_id", "document"),
    ("chunk", "document_id", "document"),
    ("chunkvector", "space_id", "embeddingspace"),
    ("document", "source_id", "source"),
    ("document", "version_id", "sourceversion"),
    ("feedback", "source_id", "source"),
    ("judgement", "source_id", "source"),
    ("judgement", "topic_id", "topic"),
    ("runtopic", "run_id", "run"),
    ("sourcereader", "source_id", "source"),
    ("sourceversion", "source_id", "source"),
)
# What only the owner of the tables may do; where tables are cut into parts, for the parts.
DROP_INDEX = """
CREATE FUNCTION kebab_drop_vector_index(space_id bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    EXECUTE format('DROP INDEX IF EXISTS public.vector_hnsw_%1$s, kebab_parts.vector_hnsw_%1$s', space_id);
END $$
"""
ANALYZE = """
CREATE FUNCTION kebab_analyze(tables regclass[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE counted regclass;
BEGIN
    FOR counted IN SELECT oid FROM pg_class WHERE oid = ANY (tables)
        AND coalesce(pg_partition_root(oid), oid) IN
            ('search_document'::regclass, 'search_chunk'::regclass, 'search_chunkvector'::regclass)
    LOOP
        EXECUTE format('ANALYZE %s', counted);
    END LOOP;
END $$
"""
# Whatever deletes a document deletes the rows that point at it in the database, and Django knows nothing of it.
GO_ALONG = """
CREATE FUNCTION kebab_delete_answer() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    DELETE FROM search_keptanswer WHERE workspace_id = OLD.workspace_id AND id = OLD.answer_id;
    RETURN NULL;
END $$;
CREATE TRIGGER answer_goes_along AFTER DELETE ON search_answerdocument
FOR EACH ROW EXECUTE FUNCTION kebab_delete_answer()
"""


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("search", "0001_initial"),
        ("search", "0002_tenancy"),
        ("search", "0003_libraries"),
        ("search", "0004_known_share"),
        ("search", "0005_document_titles"),
        ("search", "0006_source_revision"),
        ("search", "0007_source_kinds"),
        ("search", "0008_space_lifecycle"),
        ("search", "0009_source_schedule"),
        ("search", "0010_source_readers"),
        ("search", "0011_row_level_security"),
        ("search", "0012_document_of_version"),
        ("search", "0013_folded_titles"),
        ("search", "0014_readers_by_workspace"),
        ("search", "0015_evaluation"),
        ("search", "0016_held_because"),
        ("search", "0017_kept_answers"),
        ("search", "0018_asked_queries"),
        ("search", "0019_parts"),
        ("search", "0020_written"),
        ("search", "0021_vector_by_writing"),
        ("search", "0022_paths_with_hash"),
        ("search", "0023_validate_paths"),
        ("search", "0024_compared_at"),
        ("search", "0025_document_dates"),
        ("search", "0026_date_documents"),
        ("search", "0027_bookmarks"),
    ]

    dependencies = [
        ("people", "0008_user_preferences"),
    ]

    operations = [
        pgvector.django.VectorExtension(),
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
        migrations.CreateModel(
            name="Change",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "workspace_id", "seq", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("seq", models.BigIntegerField()),
                ("doc_id", models.UUIDField()),
                ("op", models.CharField(choices=[("upsert", "upsert"), ("delete", "delete")], max_length=6)),
                ("token", models.BigIntegerField()),
                ("at", models.DateTimeField()),
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
                    models.CheckConstraint(
                        condition=models.Q(("op__in", ("upsert", "delete"))), name="change_op_known"
                    ),
                    models.CheckConstraint(condition=models.Q(("seq__gte", 1)), name="change_seq_from_one"),
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="EmbeddingSpace",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("model", models.CharField(max_length=200)),
                ("revision", models.CharField(max_length=100)),
                ("dim", models.PositiveIntegerField()),
                ("query_prefix", models.CharField(blank=True, default="", max_length=200)),
                ("passage_prefix", models.CharField(blank=True, default="", max_length=200)),
                (
                    "languages",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=16), blank=True, default=list, size=None
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("building", "Building"), ("live", "Live"), ("retired", "Retired")],
                        default="live",
                        max_length=10,
                    ),
                ),
                ("epoch", models.BigIntegerField(default=0)),
                ("known_share", models.FloatField(blank=True, null=True)),
                ("is_indexed", models.BooleanField(default=False)),
                ("switches_by_itself", models.BooleanField(db_default=True, default=True)),
                ("held_because", models.TextField(blank=True, db_default="", default="")),
                ("live_until", models.DateTimeField(blank=True, null=True)),
                ("retire_at", models.DateTimeField(blank=True, null=True)),
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
                "indexes": [],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "live")), fields=("workspace",), name="space_one_live"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "building")),
                        fields=("workspace",),
                        name="space_one_building",
                    ),
                    models.UniqueConstraint(
                        fields=("workspace", "model", "revision", "dim", "query_prefix", "passage_prefix"),
                        name="space_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["building", "live", "retired"])),
                        name="space_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "retired"), _negated=True),
                            ("retire_at__isnull", False),
                            _connector="OR",
                        ),
                        name="space_retired_has_time",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="KeptAnswer",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("conversation_id", models.UUIDField()),
                ("asked_by", models.CharField(max_length=320)),
                ("creator", models.CharField(max_length=320)),
                ("question", models.TextField()),
                ("text", models.TextField(blank=True, default="")),
                ("state", models.CharField(max_length=10)),
                ("reason", models.CharField(blank=True, default="", max_length=20)),
                ("citations", models.JSONField(blank=True, default=list)),
                ("hits", models.JSONField(blank=True, default=list)),
                ("model", models.CharField(blank=True, max_length=200, null=True)),
                ("usage", models.JSONField(blank=True, null=True)),
                ("mode", models.CharField(max_length=10)),
                ("index_version", models.CharField(max_length=500)),
                ("seq", models.BigIntegerField()),
                ("lag", models.BigIntegerField()),
                ("took_ms", models.FloatField()),
                (
                    "degraded",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=20), blank=True, default=list, size=None
                    ),
                ),
                ("warnings", models.JSONField(blank=True, default=list)),
                ("created_at", models.DateTimeField()),
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
                    models.Index(fields=["workspace", "-created_at"], name="answer_by_time"),
                    models.Index(fields=["workspace", "creator", "-created_at"], name="answer_by_asker"),
                    models.Index(fields=["workspace", "conversation_id"], name="answer_by_conversation"),
                ],
                "constraints": [],
            },
        ),
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
                    django.contrib.postgres.fields.ArrayField(
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
                "indexes": [models.Index(fields=["workspace", "-created_at"], name="run_by_time")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ["queued", "running", "succeeded", "failed", "cancelled"])
                        ),
                        name="run_state_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Source",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "key",
                    models.CharField(
                        max_length=63,
                        validators=[
                            django.core.validators.RegexValidator(
                                "\\A[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\Z",
                                "Use 1 to 63 lower-case letters, digits and inner hyphens.",
                                code="invalid_slug",
                            )
                        ],
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("upload", "Upload"), ("folder", "Folder"), ("git", "Git"), ("web", "Web")],
                        max_length=10,
                    ),
                ),
                ("config", models.JSONField(blank=True, default=dict)),
                (
                    "sealed_credentials",
                    models.TextField(blank=True, db_default="", default="", editable=False),
                ),
                ("title", models.CharField(blank=True, max_length=300)),
                ("description", models.TextField(blank=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("indexing", "Indexing"),
                            ("indexed", "Indexed"),
                            ("error", "Error"),
                        ],
                        default="pending",
                        max_length=10,
                    ),
                ),
                (
                    "default_tags",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=100), blank=True, default=list, size=None
                    ),
                ),
                ("default_trust", models.CharField(default="unknown", max_length=10)),
                ("trust_score", models.FloatField(default=0)),
                ("stars", models.PositiveIntegerField(blank=True, null=True)),
                ("total_snippets", models.PositiveIntegerField(default=0)),
                ("rules", models.JSONField(blank=True, default=list)),
                ("library_id", models.CharField(editable=False, max_length=300)),
                ("project", models.JSONField(blank=True, default=dict)),
                ("last_indexed_at", models.DateTimeField(blank=True, null=True)),
                ("watch", models.BooleanField(db_default=False, default=False)),
                ("sync_every_minutes", models.PositiveIntegerField(blank=True, null=True)),
                ("next_sync_at", models.DateTimeField(blank=True, null=True)),
                ("last_sync_at", models.DateTimeField(blank=True, null=True)),
                ("compared_at", models.DateTimeField(blank=True, null=True)),
                ("sync_failures", models.PositiveIntegerField(db_default=0, default=0)),
                ("is_restricted", models.BooleanField(db_default=False, default=False)),
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
                "ordering": ("key",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("next_sync_at__isnull", False)),
                        fields=["workspace", "next_sync_at"],
                        name="source_scheduled",
                    ),
                    models.Index(
                        condition=models.Q(("watch", True)),
                        fields=["workspace", "key"],
                        name="source_watched",
                    ),
                    models.Index(
                        condition=models.Q(("is_restricted", True)),
                        fields=["workspace"],
                        name="source_restricted",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "key"), name="source_key_once"),
                    models.UniqueConstraint(
                        fields=("workspace", "library_id"), name="source_library_id_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["upload", "folder", "git", "web"])),
                        name="source_kind_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["pending", "indexing", "indexed", "error"])),
                        name="source_state_known",
                    ),
                ],
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
                "indexes": [],
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "topic_set", "topic_id"), name="topic_once"),
                    models.CheckConstraint(
                        condition=models.Q(("origin__in", ["golden", "imported", "feedback"])),
                        name="topic_origin_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ChunkVector",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "workspace_id",
                        "chunk_id",
                        "space_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("chunk_id", models.UUIDField()),
                ("version_id", models.UUIDField()),
                ("embed_hash", models.UUIDField()),
                ("embedding", pgvector.django.halfvec.HalfVectorField()),
                (
                    "written",
                    search.models.vector.TransactionNumber(
                        db_default=search.models.vector.PresentTransaction(), editable=False, null=True
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
                    "space",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="vectors",
                        to="search.embeddingspace",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["workspace", "space", "embed_hash"], name="vector_by_hash"),
                    models.Index(fields=["workspace", "space", "written"], name="vector_by_writing"),
                ],
                "constraints": [],
            },
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
                    "source",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="search.source",
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
            options={
                "indexes": [models.Index(fields=["workspace", "source"], name="judgement_by_source")],
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "topic", "place_key"), name="judgement_once")
                ],
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
                    django.contrib.postgres.fields.ArrayField(
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
                "indexes": [],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "run", "ordinal"), name="run_topic_place_once"
                    ),
                    models.UniqueConstraint(fields=("workspace", "run", "topic_id"), name="run_topic_once"),
                ],
            },
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
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="people.group",
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
                "indexes": [models.Index(fields=["workspace", "group"], name="source_reader_by_group")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "source", "group"), name="source_reader_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SourceVersion",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("tag", models.CharField(blank=True, default="", max_length=200)),
                ("commit", models.CharField(blank=True, default="", max_length=64)),
                ("title", models.CharField(blank=True, default="", max_length=300)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "source",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="versions",
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
                "indexes": [],
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "source", "tag"), name="version_tag_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Document",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("doc_id", models.UUIDField(editable=False)),
                ("path", models.CharField(max_length=1000)),
                ("title", models.CharField(max_length=500)),
                (
                    "title_folded",
                    models.GeneratedField(
                        db_persist=True,
                        expression=django.db.models.functions.text.Lower("title"),
                        output_field=models.TextField(db_collation="C"),
                    ),
                ),
                ("lang", models.CharField(default="und", max_length=16)),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=100), blank=True, default=list, size=None
                    ),
                ),
                (
                    "trust_level",
                    models.CharField(
                        choices=[
                            ("primary", "Primary"),
                            ("secondary", "Secondary"),
                            ("generated", "Generated"),
                            ("unknown", "Unknown"),
                        ],
                        default="unknown",
                        max_length=10,
                    ),
                ),
                ("mime", models.CharField(max_length=200)),
                (
                    "media",
                    models.CharField(
                        choices=[
                            ("text", "Text"),
                            ("code", "Code"),
                            ("pdf", "Pdf"),
                            ("office", "Office"),
                            ("email", "Email"),
                            ("image", "Image"),
                            ("transcript", "Transcript"),
                        ],
                        default="text",
                        max_length=10,
                    ),
                ),
                ("size_bytes", models.BigIntegerField()),
                ("content_hash", models.CharField(max_length=64)),
                ("overrides", models.JSONField(blank=True, default=dict)),
                ("parser_version", models.CharField(max_length=64)),
                ("chunker_version", models.CharField(max_length=64)),
                ("source_mtime_ns", models.BigIntegerField(blank=True, null=True)),
                ("source_revision", models.CharField(blank=True, db_default="", default="", max_length=200)),
                ("requested_at", models.DateTimeField(blank=True, null=True)),
                ("indexed_at", models.DateTimeField()),
                ("dated_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("author", models.CharField(blank=True, db_default="", default="", max_length=200)),
                ("metadata", models.JSONField(blank=True, default=dict)),
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
                    "source",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="documents",
                        to="search.source",
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="documents",
                        to="search.sourceversion",
                    ),
                ),
            ],
            options={
                "ordering": ("id",),
                "indexes": [
                    models.Index(fields=["workspace", "version", "id"], name="document_of_version"),
                    models.Index(fields=["workspace", "title_folded"], name="document_by_folded_title"),
                    models.Index(fields=["workspace", "dated_at", "id"], name="document_by_date"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "doc_id"), name="document_id_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("trust_level__in", ["primary", "secondary", "generated", "unknown"])
                        ),
                        name="document_trust_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("media__in", ["text", "code", "pdf", "office", "email", "image", "transcript"])
                        ),
                        name="document_media_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("path", ""), _negated=True),
                            models.Q(("path__startswith", "/"), _negated=True),
                        ),
                        name="document_path_relative",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="AnswerDocument",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
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
                    "answer",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="documents",
                        to="search.keptanswer",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["workspace", "document"], name="answer_by_document")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "answer", "document"), name="answer_document_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Bookmark",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("creator", models.CharField(max_length=320)),
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
            ],
            options={
                "indexes": [models.Index(fields=["workspace", "document"], name="bookmark_by_document")],
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "creator", "document"), name="bookmark_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Chunk",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "workspace_id",
                        "chunk_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("chunk_id", models.UUIDField(editable=False)),
                ("ordinal", models.IntegerField()),
                (
                    "kind",
                    models.CharField(
                        choices=[("code", "code"), ("info", "info")], default="info", max_length=4
                    ),
                ),
                ("language", models.CharField(blank=True, default="", max_length=40)),
                (
                    "heading_path",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), default=list, size=None
                    ),
                ),
                ("breadcrumb", models.TextField(blank=True, default="")),
                ("section_label", models.TextField(blank=True, default="")),
                ("text", models.TextField()),
                ("source_spans", models.JSONField(default=list)),
                ("token_count", models.IntegerField()),
                ("embed_hash", models.UUIDField()),
                ("row_version", models.IntegerField(default=1)),
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
                    "document",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="chunks",
                        to="search.document",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["workspace", "document"], name="chunk_by_document")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ("code", "info"))), name="chunk_kind_known"
                    )
                ],
            },
        ),
        *(composite_primary_key(f"search_{name}") for name in KEYED),
        *(foreign_key(Reference(f"search_{name}", TENANT, "people_workspace", ("id",))) for name in OWNED),
        *(
            foreign_key(Reference(f"search_{table}", (*TENANT, column), f"search_{target}"))
            for table, column, target in REFERENCES
        ),
        foreign_key(
            Reference(
                "search_chunkvector", (*TENANT, "chunk_id"), "search_chunk", ("workspace_id", "chunk_id")
            )
        ),
        foreign_key(Reference("search_sourcereader", (*TENANT, "group_id"), "people_group")),
        *(wall(f"search_{name}") for name in (*KEYED, "change", "chunk", "chunkvector")),
        migrations.RunSQL(DROP_INDEX, "DROP FUNCTION kebab_drop_vector_index(bigint)"),
        migrations.RunSQL(ANALYZE, "DROP FUNCTION kebab_analyze(regclass[])"),
        migrations.RunSQL(
            "REVOKE EXECUTE ON FUNCTION kebab_drop_vector_index(bigint), kebab_analyze(regclass[]) FROM PUBLIC",
            migrations.RunSQL.noop,
        ),
        migrations.RunSQL(
            GO_ALONG,
            "DROP TRIGGER answer_goes_along ON search_answerdocument; DROP FUNCTION kebab_delete_answer()",
        ),
    ]
