"""Values of metadata as filters compare them; those of present documents follow in the next migration."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("search", "0027_bookmarks")]

    operations = [
        migrations.AddField(
            model_name="document",
            name="filter_values",
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
    ]
