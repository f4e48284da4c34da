"""A version's documents in the order of their ids: the newest of many without reading them all."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("search", "0011_row_level_security")]

    operations = [
        migrations.AddIndex(
            model_name="document",
            index=models.Index(fields=["workspace", "version", "id"], name="document_of_version"),
        ),
        migrations.RemoveIndex(model_name="document", name="document_by_version"),
    ]
