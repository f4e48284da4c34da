"""Endpoints of webhooks, and their deliveries."""

import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

from kebab.tenancy.keys import Reference, composite_primary_key, foreign_key
from kebab.tenancy.policies import wall

_TENANT = ("workspace_id",)
_EVENTS = [
    "document.indexed",
    "document.deleted",
    "job.finished",
    "job.failed",
    "search.unsuccessful",
    "alert.matched",
]
_STATES = ["pending", "delivered", "failed"]


def _tenant_key(model: str, related_name: str) -> "models.ForeignKey[models.Model, models.Model]":
    return models.ForeignKey(
        db_constraint=False,
        db_index=False,
        on_delete=django.db.models.deletion.DO_NOTHING,
        related_name=related_name,
        to=model,
    )


class Migration(migrations.Migration):
    initial = True

    dependencies = [("people", "0001_initial")]

    operations = [
        migrations.CreateModel(
            name="Endpoint",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("url", models.CharField(max_length=1000)),
                ("description", models.CharField(blank=True, default="", max_length=200)),
                (
                    "events",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[(name, name.replace(".", " ").title()) for name in _EVENTS],
                            max_length=32,
                        ),
                        size=None,
                    ),
                ),
                ("sealed_secret", models.TextField(editable=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("disabled_at", models.DateTimeField(blank=True, null=True)),
                ("disabled_because", models.CharField(blank=True, default="", max_length=200)),
                ("document_seq", models.BigIntegerField(default=0, editable=False)),
                ("failures", models.PositiveIntegerField(default=0, editable=False)),
                ("failing_since", models.DateTimeField(editable=False, null=True)),
                ("paused_until", models.DateTimeField(editable=False, null=True)),
                ("workspace", _tenant_key("people.workspace", "+")),
            ],
            options={
                "ordering": ("created_at", "id"),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(events__contained_by=_EVENTS), name="webhook_events_known"
                    )
                ],
            },
        ),
        composite_primary_key("webhooks_endpoint"),
        foreign_key(Reference("webhooks_endpoint", _TENANT, "people_workspace", ("id",))),
        wall("webhooks_endpoint"),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("event_id", models.UUIDField()),
                ("type", models.CharField(max_length=32)),
                ("subject", models.CharField(max_length=64)),
                ("body", models.TextField()),
                (
                    "state",
                    models.CharField(
                        choices=[(state, state.title()) for state in _STATES],
                        default="pending",
                        max_length=10,
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("due_at", models.DateTimeField()),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("attempted_at", models.DateTimeField(null=True)),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("error", models.CharField(blank=True, default="", max_length=300)),
                ("workspace", _tenant_key("people.workspace", "+")),
                ("endpoint", _tenant_key("webhooks.endpoint", "deliveries")),
            ],
            options={
                "indexes": [
                    models.Index(fields=["workspace", "endpoint", "-id"], name="webhook_deliveries_by_id"),
                    models.Index(
                        condition=models.Q(("state", "pending")),
                        fields=["workspace", "endpoint", "subject", "id"],
                        name="webhook_deliveries_pending",
                    ),
                    models.Index(fields=["workspace", "created_at"], name="webhook_deliveries_by_time"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "endpoint", "event_id"), name="webhook_event_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(state__in=_STATES), name="webhook_delivery_state_known"
                    ),
                ],
            },
        ),
        composite_primary_key("webhooks_delivery"),
        foreign_key(Reference("webhooks_delivery", _TENANT, "people_workspace", ("id",))),
        foreign_key(Reference("webhooks_delivery", (*_TENANT, "endpoint_id"), "webhooks_endpoint")),
        wall("webhooks_delivery"),
    ]
