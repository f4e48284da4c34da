"""Evaluation data of a workspace: topics, judgements, runs, and feedback on hits.

Judgements and rankings name documents by source, version tag and path, so that they survive re-ingestion.
They are deleted with the source that they name.
"""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models

from kebab.tenancy.fields import tenant_key, workspace_key
from search.models.document import MAX_PATH_CHARS
from search.models.source import MAX_TAG_CHARS
from search.models.tenant import TenantQuerySet

MAX_SET_CHARS = 64
MAX_TOPIC_ID_CHARS = 100
MAX_TOPIC_CHARS = 20_000
MAX_FRAGMENT_CHARS = 100
MAX_RUN_NAME_CHARS = 100
MAX_ACTOR_CHARS = 320
#: The topic set of the quality gate.
GOLDEN = "golden"


class TopicOrigin(models.TextChoices):
    """Origins of topics."""

    GOLDEN = "golden"
    IMPORTED = "imported"
    FEEDBACK = "feedback"


class RunState(models.TextChoices):
    """States of a run: `queued → running → succeeded | failed | cancelled`, with exactly one final state."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Topic(models.Model):
    """A query of a topic set, which runs search for; its judgements name the relevant documents."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = workspace_key()
    topic_set = models.CharField(max_length=MAX_SET_CHARS, default=GOLDEN)
    topic_id = models.CharField(max_length=MAX_TOPIC_ID_CHARS)
    text = models.TextField(max_length=MAX_TOPIC_CHARS)
    # In the format of a search request.
    filters = models.JSONField(default=dict, blank=True)
    # Whether the workspace has no answer, so that no hit, or a refusal, is correct.
    is_unanswerable = models.BooleanField(default=False)
    origin = models.CharField(max_length=10, choices=TopicOrigin.choices, default=TopicOrigin.GOLDEN)
    # The caller as the audit log names it, and its identity, which is never reused.
    created_by = models.CharField(max_length=MAX_ACTOR_CHARS, blank=True, default="")
    creator = models.CharField(max_length=MAX_ACTOR_CHARS, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TenantQuerySet.as_manager()

    class Meta:
        ordering = ("topic_set", "topic_id")
        constraints = (
            models.UniqueConstraint(fields=("workspace", "topic_set", "topic_id"), name="topic_once"),
            models.CheckConstraint(
                condition=models.Q(origin__in=TopicOrigin.values), name="topic_origin_known"
            ),
        )

    def __str__(self) -> str:
        return f"{self.topic_set} {self.topic_id}"


class Judgement(models.Model):
    """The relevance grade of a document, or of a fragment of it, for a topic."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = workspace_key()
    topic = tenant_key("search.Topic", "judgements")
    # Null if no source was named or found: the document of any source at that path.
    source = tenant_key("search.Source", "+", null=True, blank=True)
    version = models.CharField(max_length=MAX_TAG_CHARS, blank=True, default="")
    path = models.CharField(max_length=MAX_PATH_CHARS)
    # The fragment of a citation, after its `#`: `L7-L12`, `page=4`. Empty: the whole document.
    fragment = models.CharField(max_length=MAX_FRAGMENT_CHARS, blank=True, default="")
    # Above 0 means relevant.
    grade = models.SmallIntegerField()
    # Key of source, version, path and fragment, which together are too long for an index.
    place_key = models.UUIDField(editable=False)

    objects = TenantQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("workspace", "topic", "place_key"), name="judgement_once"),
        )
        # For the deletion of sources.
        indexes = (models.Index(fields=("workspace", "source"), name="judgement_by_source"),)

    def __str__(self) -> str:
        return f"{self.path}#{self.fragment}: {self.grade}"


class Run(models.Model):
    """One evaluation of topics in one mode under given settings, with a record for repeating it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = workspace_key()
    name = models.CharField(max_length=MAX_RUN_NAME_CHARS, blank=True, default="")
    topic_set = models.CharField(max_length=MAX_SET_CHARS)
    state = models.CharField(max_length=10, choices=RunState.choices, default=RunState.QUEUED)
    # The job that executes it, if any.
    job_id = models.UUIDField(null=True, blank=True)
    # `RunSettings` and the names of measures, as JSON.
    settings = models.JSONField(default=dict)
    measures = models.JSONField(default=list)
    # Versions of code and indexes, effective settings, machine, digests of topics and judgements.
    record = models.JSONField(default=dict)
    # Means by name, percentiles of latency, counts.
    figures = models.JSONField(default=dict)
    # Keys of the sources named in its judgements and rankings; '' for a judgement without a source.
    sources = ArrayField(models.CharField(max_length=63, blank=True), default=list, blank=True)
    error = models.TextField(blank=True, default="")
    created_by = models.CharField(max_length=MAX_ACTOR_CHARS, blank=True, default="")
    creator = models.CharField(max_length=MAX_ACTOR_CHARS, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = TenantQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at", "id")
        indexes = (models.Index(fields=("workspace", "-created_at"), name="run_by_time"),)
        constraints = (
            models.CheckConstraint(condition=models.Q(state__in=RunState.values), name="run_state_known"),
        )

    def __str__(self) -> str:
        return self.name or str(self.id)

    @property
    def is_finished(self) -> bool:
        """Return whether it is in a final state."""
        return self.state not in (RunState.QUEUED, RunState.RUNNING)


class RunTopic(models.Model):
    """A copy of a topic and its judgements in a run, with the result: runs outlive their topics."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = workspace_key()
    run = tenant_key("search.Run", "topics")
    # From 0, in the order of execution.
    ordinal = models.PositiveIntegerField()
    topic_id = models.CharField(max_length=MAX_TOPIC_ID_CHARS)
    text = models.TextField()
    filters = models.JSONField(default=dict, blank=True)
    is_unanswerable = models.BooleanField(default=False)
    # [[source key or null, version, path, fragment, grade], …]
    judgements = models.JSONField(default=list, blank=True)
    # [[source key, version, path, fragment, score], …], one per document, best first. Null: not run yet.
    ranking = models.JSONField(null=True, blank=True)
    # Values by name of measure.
    measures = models.JSONField(default=dict, blank=True)
    ms = models.FloatField(null=True, blank=True)
    is_empty = models.BooleanField(null=True, blank=True)
    is_refused = models.BooleanField(null=True, blank=True)
    # Legs that were stopped or disabled, and the version of the indexes.
    degraded = ArrayField(models.CharField(max_length=20), default=list, blank=True)
    index_version = models.CharField(max_length=500, blank=True, default="")

    objects = TenantQuerySet.as_manager()

    class Meta:
        ordering = ("ordinal",)
        constraints = (
            models.UniqueConstraint(fields=("workspace", "run", "ordinal"), name="run_topic_place_once"),
            models.UniqueConstraint(fields=("workspace", "run", "topic_id"), name="run_topic_once"),
        )

    def __str__(self) -> str:
        return self.topic_id


class Feedback(models.Model):
    """A caller's judgement whether a hit answers a query; the latest one on a document counts."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = workspace_key()
    query = models.TextField(max_length=MAX_TOPIC_CHARS)
    source = tenant_key("search.Source", "+")
    version = models.CharField(max_length=MAX_TAG_CHARS, blank=True, default="")
    path = models.CharField(max_length=MAX_PATH_CHARS)
    fragment = models.CharField(max_length=MAX_FRAGMENT_CHARS, blank=True, default="")
    is_relevant = models.BooleanField()
    # The caller as the audit log names it, and its identity, which is never reused.
    actor = models.CharField(max_length=MAX_ACTOR_CHARS)
    creator = models.CharField(max_length=MAX_ACTOR_CHARS)
    # Keys of the query, and of source, version and path, which are too long for an index.
    query_key = models.UUIDField(editable=False)
    place_key = models.UUIDField(editable=False)
    created_at = models.DateTimeField(auto_now=True)

    objects = TenantQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at", "id")
        constraints = (
            models.UniqueConstraint(
                fields=("workspace", "creator", "query_key", "place_key"), name="feedback_once"
            ),
        )
        indexes = (
            models.Index(fields=("workspace", "-created_at"), name="feedback_by_time"),
            models.Index(fields=("workspace", "query_key"), name="feedback_by_query"),
            # For the deletion of sources.
            models.Index(fields=("workspace", "source"), name="feedback_by_source"),
        )

    def __str__(self) -> str:
        return f"{self.path}: {'relevant' if self.is_relevant else 'not relevant'}"
