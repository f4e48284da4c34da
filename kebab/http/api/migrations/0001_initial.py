import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("people", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="IdempotencyKey",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("actor", models.CharField(max_length=64)),
                ("key", models.CharField(max_length=200)),
                ("target", models.CharField(max_length=500)),
                ("request_sha256", models.BinaryField(max_length=32)),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("body", models.JSONField(null=True)),
                ("location", models.TextField(blank=True, default="")),
                ("claimed_at", models.DateTimeField()),
                ("created_at", models.DateTimeField(db_index=True)),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="people.workspace",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "actor", "key"),
                        name="idempotency_key_once",
                        nulls_distinct=False,
                    )
                ],
            },
        ),
    ]
