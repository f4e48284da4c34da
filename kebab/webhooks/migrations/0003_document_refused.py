"""Endpoints may receive events about refused files."""

import django.contrib.postgres.fields
from django.db import migrations, models

_EVENTS = [
    "document.indexed",
    "document.deleted",
    "document.refused",
    "job.finished",
    "job.failed",
    "search.unsuccessful",
    "alert.matched",
]


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0002_masked_audit_subjects")]

    operations = [
        migrations.RemoveConstraint(model_name="endpoint", name="webhook_events_known"),
        migrations.AlterField(
            model_name="endpoint",
            name="events",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(
                    choices=[(name, name.replace(".", " ").title()) for name in _EVENTS], max_length=32
                ),
                size=None,
            ),
        ),
        migrations.AddConstraint(
            model_name="endpoint",
            constraint=models.CheckConstraint(
                condition=models.Q(events__contained_by=_EVENTS), name="webhook_events_known"
            ),
        ),
    ]
