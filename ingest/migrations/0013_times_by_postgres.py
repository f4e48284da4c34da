"""When a job was asked for and is due is said by Postgres' clock where nobody else says it."""

from collections.abc import Mapping
from typing import ClassVar

from django.db import migrations, models
from django.db.models.functions import Now

_SAFE = "a default stands in the catalog alone; the version before says the value itself"


class Migration(migrations.Migration):
    dependencies = [("ingest", "0012_causes_of_jobs")]

    safe_because: ClassVar[Mapping[int, str]] = {0: _SAFE, 1: _SAFE}

    operations = [
        migrations.AlterField(
            model_name="job",
            name="created_at",
            field=models.DateTimeField(db_default=Now(), editable=False),
        ),
        migrations.AlterField(
            model_name="job",
            name="due_at",
            field=models.DateTimeField(db_default=Now()),
        ),
    ]
