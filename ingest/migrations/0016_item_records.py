"""Items keep what a connector reported about them until they are read."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ingest", "0015_acts"), ("search", "0032_record_connectors")]

    operations = [
        migrations.AddField(
            model_name="jobitem",
            name="record",
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
    ]
