"""Row-level security: a statement meets the rows of the workspace that it acts in."""

from django.db import migrations

from kebab.tenancy.policies import wall


class Migration(migrations.Migration):
    dependencies = [("ingest", "0006_web_pages")]

    operations = [wall(f"ingest_{name}") for name in ("job", "jobitem", "unreadable", "webpage")]
