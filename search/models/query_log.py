"""The query log of a workspace, for its managers."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from kebab.tenancy.fields import workspace_key
from search.models.evaluation import MAX_ACTOR_CHARS
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


class ReviewState(models.TextChoices):
    """States of the work on a search without results."""

    OPEN = "open", _("Open")
    IN_WORK = "in_work", _("In work")
    DONE = "done", _("Done")
    IGNORED = "ignored", _("Ignored")


class QueryReview(models.Model):
    """A search without results that a manager has looked at."""

    id = models.BigAutoField(primary_key=True)
    workspace = workspace_key()
    # As in AskedQuery.
    folded = models.CharField(max_length=MAX_ASKED_CHARS)
    state = models.CharField(max_length=10, choices=ReviewState.choices)
    # The actor who set the state; '' while it is open.
    owner = models.CharField(max_length=MAX_ACTOR_CHARS, blank=True)
    changed_at = models.DateTimeField(auto_now=True)

    objects = TenantQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("workspace", "folded"), name="query_review_once"),
            models.CheckConstraint(
                condition=models.Q(state__in=ReviewState.values), name="query_review_state_known"
            ),
        )

    def __str__(self) -> str:
        return f"{self.folded}: {self.state}"
