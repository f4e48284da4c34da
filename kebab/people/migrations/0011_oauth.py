"""OAuth clients, the grants that they exchange for access tokens, and what binds these tokens."""

import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("people", "0010_personal_tokens"),
    ]

    operations = [
        migrations.CreateModel(
            name="OAuthClient",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("name", models.CharField(blank=True, max_length=200)),
                (
                    "redirect_uris",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=2000), size=10
                    ),
                ),
                ("registered_at", models.DateTimeField(auto_now_add=True)),
                ("active_at", models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
            ],
            options={
                "ordering": ("registered_at",),
            },
        ),
        migrations.AddField(
            model_name="personaltoken",
            name="resource",
            field=models.CharField(blank=True, db_default="", default="", max_length=500),
        ),
        migrations.AddField(
            model_name="personaltoken",
            name="workspace_ids",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.UUIDField(), blank=True, null=True, size=None
            ),
        ),
        migrations.AddField(
            model_name="personaltoken",
            name="client",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="tokens",
                to="people.oauthclient",
            ),
        ),
        migrations.CreateModel(
            name="OAuthGrant",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("sha256", models.BinaryField(max_length=32, unique=True)),
                ("redirect_uri", models.CharField(blank=True, default="", max_length=2000)),
                ("code_challenge", models.CharField(blank=True, default="", max_length=128)),
                ("expires_at", models.DateTimeField(db_index=True)),
                ("used_at", models.DateTimeField(null=True)),
                (
                    "token",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grants",
                        to="people.personaltoken",
                    ),
                ),
            ],
            options={
                "ordering": ("pk",),
            },
        ),
    ]
