"""Tokens with which a person's tools act for them, and the OAuth clients and grants behind some."""

import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

_SCOPES = ["search", "ingest", "manage", "ask"]


class Migration(migrations.Migration):
    dependencies = [("people", "0009_token_filters")]

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
        migrations.CreateModel(
            name="PersonalToken",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("name", models.CharField(blank=True, max_length=200)),
                ("prefix", models.CharField(editable=False, max_length=16, unique=True)),
                ("secret_sha256", models.BinaryField(max_length=32)),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[(scope, scope.title()) for scope in _SCOPES], max_length=16
                        ),
                        blank=True,
                        default=list,
                        size=None,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                ("last_used_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("resource", models.CharField(blank=True, db_default="", default="", max_length=500)),
                (
                    "workspace_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), blank=True, null=True, size=None
                    ),
                ),
                (
                    "client",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tokens",
                        to="people.oauthclient",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="personal_tokens",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"ordering": ("created_at",), "abstract": False},
        ),
        migrations.AddConstraint(
            model_name="personaltoken",
            constraint=models.CheckConstraint(
                condition=models.Q(scopes__contained_by=_SCOPES), name="personal_token_scopes_known"
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
