"""Items state what the readers of their documents left out or could not read."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ingest", "0016_item_records")]

    operations = [
        migrations.AddField(
            model_name="jobitem",
            name="omissions",
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
    ]
