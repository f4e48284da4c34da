"""Filters that a token's searches are always narrowed by."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("people", "0008_user_preferences")]

    operations = [
        migrations.AddField(
            model_name="apitoken",
            name="filters",
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
    ]
