"""The query log of a workspace, for its managers."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models

from kebab.tenancy.fields import workspace_key
from search.models.tenant import TenantQuerySet

#: Stored length of a query's text.
MAX_ASKED_CHARS = 500


class Door(models.TextChoices):
    """Interfaces that queries come from."""

    PAGE = "page"
    API = "api"
    MCP = "mcp"
    CLI = "cli"


class AskedQuery(models.Model):
    """A query that was answered: its text and result figures, without its author."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = workspace_key()
    # Truncated, as typed; and normalised in case and spaces, for grouping.
    text = models.CharField(max_length=MAX_ASKED_CHARS, blank=True)
    folded = models.CharField(max_length=MAX_ASKED_CHARS, blank=True)
    door = models.CharField(max_length=10, choices=Door.choices)
    mode = models.CharField(max_length=10)
    hits = models.PositiveIntegerField()
    # Chunks that match the words, as far as counted; null without a lexical search.
    lexical_total = models.BigIntegerField(null=True, blank=True)
    took_ms = models.FloatField()
    degraded = ArrayField(models.CharField(max_length=20), default=list, blank=True)
    asked_at = models.DateTimeField()
    # Pseudonym that groups the keystrokes of one caller, for a minute; then ''.
    typist = models.CharField(max_length=32, blank=True, default="")

    objects = TenantQuerySet.as_manager()

    class Meta:
        ordering = ("-asked_at", "id")
        indexes = (
            models.Index(fields=("workspace", "-asked_at"), name="asked_by_time"),
            models.Index(fields=("workspace", "folded", "-asked_at"), name="asked_by_text"),
            models.Index(
                fields=("workspace", "typist", "asked_at"),
                condition=~models.Q(typist=""),
                name="asked_by_typist",
            ),
        )
        constraints = (
            models.CheckConstraint(condition=models.Q(door__in=Door.values), name="asked_door_known"),
        )

    def __str__(self) -> str:
        return self.text
