"""Plain text of chunks, stored as they are written; that of present ones is empty, and read when shown."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("search", "0034_kinds_unconstrained")]

    operations = [
        migrations.AddField(
            model_name="chunk",
            name="plain",
            field=models.TextField(blank=True, db_default="", default="", editable=False),
        ),
    ]
