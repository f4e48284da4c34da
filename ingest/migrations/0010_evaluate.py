"""Jobs that ask a workspace its judged topics."""

from django.db import migrations, models

KINDS = (
    "sync_source",
    "ingest_document",
    "ingest_archive",
    "delete_source",
    "delete_version",
    "embed",
    "evaluate",
)
LABELS = (
    "Sync Source",
    "Ingest Document",
    "Ingest Archive",
    "Delete Source",
    "Delete Version",
    "Embed",
    "Evaluate",
)


class Migration(migrations.Migration):
    dependencies = [("ingest", "0009_uploads_name_their_version")]

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
    ]
