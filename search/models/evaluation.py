"""What a workspace measures its own search by: topics, judgements, runs, and what people say of hits.

Judgements and rankings name documents by source, version tag and path, so that they stand whatever is
ingested again. What names a document of a source goes with the source.
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
#: The set that the gate asks.
GOLDEN = "golden"


class TopicOrigin(models.TextChoices):
    """How a topic came to be."""

    GOLDEN = "golden"
    IMPORTED = "imported"
    FEEDBACK = "feedback"


class RunState(models.TextChoices):
    """`queued → running → succeeded | failed | cancelled`, exactly one end."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Topic(models.Model):
    """A query of a set. It is asked in runs; what is relevant to it are its judgements."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = workspace_key()
    topic_set = models.CharField(max_length=MAX_SET_CHARS, default=GOLDEN)
    topic_id = models.CharField(max_length=MAX_TOPIC_ID_CHARS)
    text = models.TextField(max_length=MAX_TOPIC_CHARS)
    # As in a search request.
    filters = models.JSONField(default=dict, blank=True)
    # Whether the workspace holds no answer, so that none, or a refusal, is right.
    is_unanswerable = models.BooleanField(default=False)
    origin = models.CharField(max_length=10, choices=TopicOrigin.choices, default=TopicOrigin.GOLDEN)
    # As the audit names the caller, and by the identity that passes to nobody else.
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
    """How relevant a document, or a place in it, is to a topic."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = workspace_key()
    topic = tenant_key("search.Topic", "judgements")
    # Null: no source was named and none was found; the document of any source at that path.
    source = tenant_key("search.Source", "+", null=True, blank=True)
    version = models.CharField(max_length=MAX_TAG_CHARS, blank=True, default="")
    path = models.CharField(max_length=MAX_PATH_CHARS)
    # What a citation has behind its `#`: `L7-L12`, `page=4`. Empty: the whole document.
    fragment = models.CharField(max_length=MAX_FRAGMENT_CHARS, blank=True, default="")
    # Above 0 is relevant.
    grade = models.SmallIntegerField()
    # Of source, version, path and fragment, which together are too long for an index.
    place_key = models.UUIDField(editable=False)

    objects = TenantQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("workspace", "topic", "place_key"), name="judgement_once"),
        )
        # For a source's deletion.
        indexes = (models.Index(fields=("workspace", "source"), name="judgement_by_source"),)

    def __str__(self) -> str:
        return f"{self.path}#{self.fragment}: {self.grade}"


class Run(models.Model):
    """One asking of topics in one mode under some settings, with what it takes to repeat it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = workspace_key()
    name = models.CharField(max_length=MAX_RUN_NAME_CHARS, blank=True, default="")
    topic_set = models.CharField(max_length=MAX_SET_CHARS)
    state = models.CharField(max_length=10, choices=RunState.choices, default=RunState.QUEUED)
    # The job that carries it out, where one does.
    job_id = models.UUIDField(null=True, blank=True)
    # `RunSettings` and the names of measures, as JSON.
    settings = models.JSONField(default=dict)
    measures = models.JSONField(default=list)
    # Code, all settings in force, indexes, machine, digests of topics and judgements.
    record = models.JSONField(default=dict)
    # Means by name, percentiles of latency, counts.
    figures = models.JSONField(default=dict)
    # Keys of the sources that its judgements and rankings name; '' for a judgement that names none.
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
        """Return whether it has come to its one end."""
        return self.state not in (RunState.QUEUED, RunState.RUNNING)


class RunTopic(models.Model):
    """A topic as a run asks it, kept with its judgements, and what came of it: runs outlive their topics."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = workspace_key()
    run = tenant_key("search.Run", "topics")
    # From 0, in the order in which they are asked.
    ordinal = models.PositiveIntegerField()
    topic_id = models.CharField(max_length=MAX_TOPIC_ID_CHARS)
    text = models.TextField()
    filters = models.JSONField(default=dict, blank=True)
    is_unanswerable = models.BooleanField(default=False)
    # [[source key or null, version, path, fragment, grade], …]
    judgements = models.JSONField(default=list, blank=True)
    # [[source key, version, path, fragment, score], …], a document each, best first. Null: not asked yet.
    ranking = models.JSONField(null=True, blank=True)
    # Values by the name of the measure.
    measures = models.JSONField(default=dict, blank=True)
    ms = models.FloatField(null=True, blank=True)
    is_empty = models.BooleanField(null=True, blank=True)
    is_refused = models.BooleanField(null=True, blank=True)
    # Legs that were stopped or took no part, and what answered.
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
    """What a caller says of a hit of a query: whether it answers it. The last word on a document counts."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = workspace_key()
    query = models.TextField(max_length=MAX_TOPIC_CHARS)
    source = tenant_key("search.Source", "+")
    version = models.CharField(max_length=MAX_TAG_CHARS, blank=True, default="")
    path = models.CharField(max_length=MAX_PATH_CHARS)
    fragment = models.CharField(max_length=MAX_FRAGMENT_CHARS, blank=True, default="")
    is_relevant = models.BooleanField()
    # As the audit names the caller, and by the identity that passes to nobody else.
    actor = models.CharField(max_length=MAX_ACTOR_CHARS)
    creator = models.CharField(max_length=MAX_ACTOR_CHARS)
    # Of query and of source, version and path, which are too long for an index.
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
            # For a source's deletion.
            models.Index(fields=("workspace", "source"), name="feedback_by_source"),
        )

    def __str__(self) -> str:
        return f"{self.path}: {'relevant' if self.is_relevant else 'not relevant'}"
