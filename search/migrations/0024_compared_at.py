"""When the bytes of all files of a folder were last compared with what is indexed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("search", "0023_validate_paths")]

    operations = [
        migrations.AddField(
            model_name="source",
            name="compared_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
