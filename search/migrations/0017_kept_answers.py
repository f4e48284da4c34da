"""Answers that are kept, and which documents each was made from."""

import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

from kebab.tenancy.keys import Reference, composite_primary_key, foreign_key
from kebab.tenancy.policies import wall

TENANT = ("workspace_id",)
TABLES = ("keptanswer", "answerdocument")
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
STAY = """
DROP TRIGGER answer_goes_along ON search_answerdocument;
DROP FUNCTION kebab_delete_answer()
"""


class Migration(migrations.Migration):
    dependencies = [
        ("search", "0016_held_because"),
    ]

    operations = [
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
            },
        ),
        migrations.CreateModel(
            name="AnswerDocument",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
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
        ),
        migrations.AddIndex(
            model_name="keptanswer",
            index=models.Index(fields=["workspace", "-created_at"], name="answer_by_time"),
        ),
        migrations.AddIndex(
            model_name="keptanswer",
            index=models.Index(fields=["workspace", "creator", "-created_at"], name="answer_by_asker"),
        ),
        migrations.AddIndex(
            model_name="keptanswer",
            index=models.Index(fields=["workspace", "conversation_id"], name="answer_by_conversation"),
        ),
        migrations.AddIndex(
            model_name="answerdocument",
            index=models.Index(fields=["workspace", "document"], name="answer_by_document"),
        ),
        migrations.AddConstraint(
            model_name="answerdocument",
            constraint=models.UniqueConstraint(
                fields=("workspace", "answer", "document"), name="answer_document_once"
            ),
        ),
        *(composite_primary_key(f"search_{name}") for name in TABLES),
        foreign_key(Reference("search_keptanswer", TENANT, "people_workspace", ("id",))),
        foreign_key(Reference("search_answerdocument", (*TENANT, "answer_id"), "search_keptanswer")),
        foreign_key(Reference("search_answerdocument", (*TENANT, "document_id"), "search_document")),
        migrations.RunSQL(GO_ALONG, STAY),
        *(wall(f"search_{name}") for name in TABLES),
    ]
