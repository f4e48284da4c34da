"""Pages of web sites state the fingerprints of their texts."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ingest", "0017_item_omissions")]

    operations = [
        migrations.AddField(
            model_name="webpage",
            name="fingerprints",
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
    ]
