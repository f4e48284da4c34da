"""Documents state what their readers left out or could not read."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("search", "0038_is_dated")]

    operations = [
        migrations.AddField(
            model_name="document",
            name="omissions",
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
    ]
