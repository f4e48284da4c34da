"""Endpoints of webhooks, and the deliveries to them: at once the outbox and the log."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from kebab.http_client.connections import mask_address
from kebab.tenancy.fields import tenant_key, workspace_key

#: Longest address of an endpoint.
MAX_URL_CHARS = 1_000


class EventType(models.TextChoices):
    """The events that an endpoint may receive."""

    DOCUMENT_INDEXED = "document.indexed"
    DOCUMENT_DELETED = "document.deleted"
    DOCUMENT_REFUSED = "document.refused"
    JOB_FINISHED = "job.finished"
    JOB_FAILED = "job.failed"
    SEARCH_UNSUCCESSFUL = "search.unsuccessful"
    ALERT_MATCHED = "alert.matched"


#: Events that are read from the change log.
DOCUMENT_EVENTS = (EventType.DOCUMENT_INDEXED, EventType.DOCUMENT_DELETED)


class DeliveryState(models.TextChoices):
    """The state of a delivery."""

    PENDING = "pending", _("Pending")
    DELIVERED = "delivered", _("Delivered")
    #: Given up after days of attempts.
    FAILED = "failed", _("Failed")


class Endpoint(models.Model):
    """An address that receives events of a workspace."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = workspace_key()
    url = models.CharField(max_length=MAX_URL_CHARS)
    description = models.CharField(max_length=200, blank=True, default="")
    events = ArrayField(models.CharField(max_length=32, choices=EventType.choices))
    # Encrypted; it signs the deliveries.
    sealed_secret = models.TextField(editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    # Null: it receives events.
    disabled_at = models.DateTimeField(null=True, blank=True)
    disabled_because = models.CharField(max_length=200, blank=True, default="")
    # The last change of the workspace's log whose events are among its deliveries.
    document_seq = models.BigIntegerField(default=0, editable=False)
    # Failed attempts since the last successful one, the first of them, and the end of the pause.
    failures = models.PositiveIntegerField(default=0, editable=False)
    failing_since = models.DateTimeField(null=True, editable=False)
    paused_until = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ("created_at", "id")
        constraints = (
            models.CheckConstraint(
                condition=models.Q(events__contained_by=EventType.values), name="webhook_events_known"
            ),
        )

    def __str__(self) -> str:
        return self.masked_url

    @property
    def masked_url(self) -> str:
        """Return the address for audit events, logs and mails: its path is often all that protects a hook."""
        return mask_address(self.url)


class Delivery(models.Model):
    """An event on its way to an endpoint, or sent; of one subject they are sent in order of their ids."""

    id = models.BigAutoField(primary_key=True)
    workspace = workspace_key()
    endpoint = tenant_key("webhooks.Endpoint", "deliveries")
    # The same in each attempt, and at each endpoint.
    event_id = models.UUIDField()
    type = models.CharField(max_length=32)
    subject = models.CharField(max_length=64)
    body = models.TextField()
    state = models.CharField(max_length=10, choices=DeliveryState.choices, default=DeliveryState.PENDING)
    created_at = models.DateTimeField()
    due_at = models.DateTimeField()
    attempts = models.PositiveIntegerField(default=0)
    attempted_at = models.DateTimeField(null=True)
    # The last answer's status; null without one.
    status = models.PositiveSmallIntegerField(null=True)
    error = models.CharField(max_length=300, blank=True, default="")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("workspace", "endpoint", "event_id"), name="webhook_event_once"),
            models.CheckConstraint(
                condition=models.Q(state__in=DeliveryState.values), name="webhook_delivery_state_known"
            ),
        )
        indexes = (
            models.Index(fields=("workspace", "endpoint", "-id"), name="webhook_deliveries_by_id"),
            models.Index(
                fields=("workspace", "endpoint", "subject", "id"),
                condition=models.Q(state="pending"),
                name="webhook_deliveries_pending",
            ),
            # For retention.
            models.Index(fields=("workspace", "created_at"), name="webhook_deliveries_by_time"),
        )

    def __str__(self) -> str:
        return f"{self.type} {self.event_id}"

    @property
    def message_id(self) -> str:
        """Return the id by which the receiver recognises a repeated delivery."""
        return f"evt_{self.event_id.hex}"
