"""Every upload's payload names its version, '' for the default one, as what looks for uploads asks for it."""

from django.db import migrations

_NAME_DEFAULT_VERSION = """
UPDATE ingest_job SET payload = payload || '{"version": ""}'
WHERE kind IN ('ingest_document', 'ingest_archive') AND NOT payload ? 'version'
"""


class Migration(migrations.Migration):
    dependencies = [("ingest", "0008_newest_work")]

    operations = [migrations.RunSQL(_NAME_DEFAULT_VERSION, migrations.RunSQL.noop)]
