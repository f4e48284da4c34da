"""Where documents come from."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models

from kebab.people.models.workspace import SLUG
from search.models.tenant import TenantQuerySet, tenant_key, workspace_key


class SourceKind(models.TextChoices):
    """How a source is read."""

    UPLOAD = "upload"
    FOLDER = "folder"


class SourceState(models.TextChoices):
    """Where a source stands; `error` keeps what was indexed before searchable."""

    PENDING = "pending"
    INDEXING = "indexing"
    INDEXED = "indexed"
    ERROR = "error"


class Source(models.Model):
    """An upload area or a folder. `key` never changes: it goes into the ids of all its documents."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = workspace_key()
    key = models.CharField(max_length=63, validators=[SLUG])
    kind = models.CharField(max_length=10, choices=SourceKind.choices)
    config = models.JSONField(default=dict, blank=True)
    title = models.CharField(max_length=300, blank=True)
    description = models.TextField(blank=True)
    state = models.CharField(max_length=10, choices=SourceState.choices, default=SourceState.PENDING)
    # What its documents get when they say nothing themselves.
    default_tags = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    default_trust = models.CharField(max_length=10, default="unknown")
    trust_score = models.FloatField(default=0)
    stars = models.PositiveIntegerField(null=True, blank=True)
    total_snippets = models.PositiveIntegerField(default=0)
    rules = models.JSONField(default=list, blank=True)
    last_indexed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TenantQuerySet.as_manager()

    class Meta:
        ordering = ("key",)
        constraints = (
            models.UniqueConstraint(fields=("workspace", "key"), name="source_key_once"),
            models.CheckConstraint(condition=models.Q(kind__in=SourceKind.values), name="source_kind_known"),
            models.CheckConstraint(
                condition=models.Q(state__in=SourceState.values), name="source_state_known"
            ),
        )

    def __str__(self) -> str:
        return self.key


class SourceVersion(models.Model):
    """One version of a source; the tag of the default branch is empty."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = workspace_key()
    source = tenant_key("search.Source", "versions")
    tag = models.CharField(max_length=200, blank=True, default="")
    commit = models.CharField(max_length=64, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TenantQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("workspace", "source", "tag"), name="version_tag_once"),
        )

    def __str__(self) -> str:
        return self.tag or "default"
