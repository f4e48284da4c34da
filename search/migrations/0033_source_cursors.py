"""States of connectors; beside the kinds of sources, two tables would be locked at once, and searches deadlock."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("search", "0032_record_connectors")]

    operations = [
        migrations.AddField(
            model_name="sourceversion",
            name="cursor",
            field=models.TextField(blank=True, db_default="", default="", editable=False),
        ),
    ]
