"""Sources that are watched, or synced by a schedule."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("search", "0008_space_lifecycle")]

    operations = [
        migrations.AddField(
            model_name="source",
            name="watch",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="source",
            name="sync_every_minutes",
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="source",
            name="next_sync_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="source",
            name="last_sync_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="source",
            name="sync_failures",
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddIndex(
            model_name="source",
            index=models.Index(
                condition=models.Q(("next_sync_at__isnull", False)),
                fields=["workspace", "next_sync_at"],
                name="source_scheduled",
            ),
        ),
        migrations.AddIndex(
            model_name="source",
            index=models.Index(
                condition=models.Q(("watch", True)), fields=["workspace", "key"], name="source_watched"
            ),
        ),
    ]
