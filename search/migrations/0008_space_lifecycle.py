"""Spaces that are built beside the live one, go live by themselves or wait, and are kept for a while."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("search", "0007_source_kinds"),
    ]

    operations = [
        migrations.AddField(
            model_name="embeddingspace",
            name="switches_by_itself",
            field=models.BooleanField(db_default=True, default=True),
        ),
        migrations.AddField(
            model_name="embeddingspace",
            name="live_until",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="embeddingspace",
            name="retire_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.RunSQL(
            "UPDATE search_embeddingspace SET retire_at = now() WHERE state = 'retired'",
            migrations.RunSQL.noop,
        ),
        migrations.AddConstraint(
            model_name="embeddingspace",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "building")),
                fields=("workspace",),
                name="space_one_building",
            ),
        ),
        migrations.AddConstraint(
            model_name="embeddingspace",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", "retired"), _negated=True),
                    ("retire_at__isnull", False),
                    _connector="OR",
                ),
                name="space_retired_has_time",
            ),
        ),
    ]
