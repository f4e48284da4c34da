"""Jobs that ingest several documents uploaded together."""

from collections.abc import Mapping
from typing import ClassVar

from django.db import migrations, models

KINDS = (
    "sync_source",
    "ingest_document",
    "ingest_documents",
    "ingest_archive",
    "delete_source",
    "delete_version",
    "embed",
    "evaluate",
    "rechunk",
    "gate",
)


class Migration(migrations.Migration):
    dependencies = [("ingest", "0018_page_fingerprints")]
    safe_because: ClassVar[Mapping[int, str]] = dict.fromkeys(
        (1, 2), "jobs are kept for days, and the version before writes none of the new kind"
    )

    operations = [
        migrations.AlterField(
            model_name="job",
            name="kind",
            field=models.CharField(
                choices=[(kind, kind.replace("_", " ").title()) for kind in KINDS], max_length=16
            ),
        ),
        migrations.RemoveConstraint(model_name="job", name="job_kind_known"),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(
                condition=models.Q(kind__in=list(KINDS)), name="job_kind_known"
            ),
        ),
    ]
