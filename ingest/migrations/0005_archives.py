"""Jobs that ingest the members of an archive, each from bytes of its own."""

from django.db import migrations, models

KINDS = ("sync_source", "ingest_document", "ingest_archive", "delete_source", "delete_version", "embed")
LABELS = (
    "Sync Source",
    "Ingest Document",
    "Ingest Archive",
    "Delete Source",
    "Delete Version",
    "Embed",
)


class Migration(migrations.Migration):
    dependencies = [("ingest", "0004_source_revision")]

    operations = [
        migrations.AlterField(
            model_name="job",
            name="kind",
            field=models.CharField(choices=list(zip(KINDS, LABELS, strict=True)), max_length=16),
        ),
        migrations.RemoveConstraint(model_name="job", name="job_kind_known"),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(
                condition=models.Q(kind__in=list(KINDS)), name="job_kind_known"
            ),
        ),
        migrations.AddField(
            model_name="jobitem",
            name="blob",
            field=models.CharField(blank=True, db_default="", default="", max_length=64),
        ),
        migrations.AddIndex(
            model_name="jobitem",
            index=models.Index(
                condition=models.Q(("blob", ""), _negated=True),
                fields=["workspace", "blob"],
                name="item_blob",
            ),
        ),
    ]
