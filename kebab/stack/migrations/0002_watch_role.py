"""Processes that watch folders."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("stack", "0001_initial")]

    operations = [
        migrations.AlterField(
            model_name="stackprocess",
            name="role",
            field=models.CharField(
                choices=[
                    ("web", "Web"),
                    ("worker", "Worker"),
                    ("mirror", "Mirror"),
                    ("watch", "Watch"),
                    ("beat", "Beat"),
                ],
                max_length=16,
            ),
        ),
    ]
