"""Jobs that delete one version of a source."""

from django.db import migrations, models

KINDS = ("sync_source", "ingest_document", "delete_source", "delete_version", "embed")
LABELS = ("Sync Source", "Ingest Document", "Delete Source", "Delete Version", "Embed")


class Migration(migrations.Migration):
    dependencies = [("ingest", "0002_tenancy")]

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
