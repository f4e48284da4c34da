import uuid

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="StackProcess",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("node", models.CharField(max_length=255)),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("web", "Web"),
                            ("worker", "Worker"),
                            ("mirror", "Mirror"),
                            ("beat", "Beat"),
                        ],
                        max_length=16,
                    ),
                ),
                ("name", models.CharField(max_length=64)),
                ("pid", models.PositiveIntegerField()),
                ("slots", models.PositiveIntegerField(default=1)),
                ("busy", models.PositiveIntegerField(default=0)),
                (
                    "queues",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=64), default=list, size=None
                    ),
                ),
                ("started_at", models.DateTimeField()),
                ("heartbeat_at", models.DateTimeField()),
                ("last_started_at", models.DateTimeField(null=True)),
                ("info", models.JSONField(default=dict)),
            ],
            options={
                "indexes": [models.Index(fields=["node", "role"], name="stack_process_node_role")],
            },
        ),
    ]
