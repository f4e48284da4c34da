"""Why a space that is complete does not go live."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("search", "0015_evaluation")]

    operations = [
        migrations.AddField(
            model_name="embeddingspace",
            name="held_because",
            field=models.TextField(blank=True, db_default="", default=""),
        ),
    ]
