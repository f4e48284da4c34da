"""Primary keys and references that carry the workspace."""

from django.db import migrations

from kebab.tenancy.keys import Reference, composite_primary_key, foreign_key


class Migration(migrations.Migration):
    dependencies = [("ingest", "0001_initial"), ("search", "0002_tenancy")]

    operations = [
        composite_primary_key("ingest_job"),
        composite_primary_key("ingest_jobitem"),
        composite_primary_key("ingest_unreadable"),
        foreign_key(Reference("ingest_job", ("workspace_id",), "people_workspace", ("id",))),
        foreign_key(
            Reference(
                "ingest_job", ("workspace_id", "source_id"), "search_source", on_delete="SET NULL (source_id)"
            )
        ),
        foreign_key(Reference("ingest_jobitem", ("workspace_id", "job_id"), "ingest_job")),
        foreign_key(Reference("ingest_unreadable", ("workspace_id", "version_id"), "search_sourceversion")),
    ]
