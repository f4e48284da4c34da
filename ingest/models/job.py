"""Jobs: the queue of record. Redis only wakes workers; these rows hold the work and its leases."""

import uuid

from django.db import models
from django.db.models.functions import Coalesce

from kebab.tenancy.fields import tenant_key, workspace_key
from search.documents.omissions import OmissionView, omission_views
from search.models.tenant import TenantQuerySet


class JobKind(models.TextChoices):
    """The kind of a job."""

    SYNC_SOURCE = "sync_source"
    INGEST_DOCUMENT = "ingest_document"
    INGEST_DOCUMENTS = "ingest_documents"
    INGEST_ARCHIVE = "ingest_archive"
    DELETE_SOURCE = "delete_source"
    DELETE_VERSION = "delete_version"
    EMBED = "embed"
    EVALUATE = "evaluate"
    RECHUNK = "rechunk"
    GATE = "gate"


class JobState(models.TextChoices):
    """The state of a job: `queued → running → succeeded | failed | cancelled`, exactly one end."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


#: The states of a job that has not ended.
OPEN_STATES = (JobState.QUEUED, JobState.RUNNING)
#: The kinds that have blobs of their own.
UPLOAD_KINDS = (JobKind.INGEST_DOCUMENT, JobKind.INGEST_DOCUMENTS, JobKind.INGEST_ARCHIVE)
#: Those of documents that a person chose, each to be ingested.
DOCUMENT_KINDS = (JobKind.INGEST_DOCUMENT, JobKind.INGEST_DOCUMENTS)
#: Those whose items have blobs of their own.
MEMBER_KINDS = (JobKind.INGEST_DOCUMENTS, JobKind.INGEST_ARCHIVE)
#: The kinds that create documents and chunks, and have a report.
READS_DOCUMENTS = (JobKind.SYNC_SOURCE, *UPLOAD_KINDS, JobKind.RECHUNK)
#: Those whose items are cancelled when a person deletes a document, so that it stays deleted.
HEEDS_DELETIONS = (*UPLOAD_KINDS, JobKind.RECHUNK)
# Fields in the payload of a sync of a part of its source.
_PARTS = ("version", "only_paths")


class JobQuerySet(TenantQuerySet["Job"]):
    """Queries for jobs, of one workspace or, for the scheduler, of all."""

    def due(self) -> "JobQuerySet":
        """Return jobs that a worker may claim now: due, and queued or running under a lease that ran out.

        Jobs of a kind that this version doesn't know are left to the version that created them.
        """
        now = models.functions.Now()
        return self.filter(due_at__lte=now, kind__in=JobKind.values).filter(
            models.Q(state=JobState.QUEUED) | models.Q(state=JobState.RUNNING, lease_until__lt=now)
        )

    def embedding(self, is_embedding: bool) -> "JobQuerySet":
        """Return embedding jobs, or all others: each of the two groups has its own queue and workers."""
        embeds = models.Q(kind=JobKind.EMBED)
        return self.filter(embeds if is_embedding else ~embeds)

    def with_act(self) -> "JobQuerySet":
        """Return the jobs, each with the id of its act: that of the act's first job."""
        return self.annotate(act=Coalesce("batch", "id"))

    def whole_syncs(self) -> "JobQuerySet":
        """Return syncs of the whole default version of a source."""
        return self.filter(kind=JobKind.SYNC_SOURCE).exclude(payload__has_any_keys=_PARTS)


class Job(models.Model):
    """One unit of work with its progress, its lease and its end."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = workspace_key()
    kind = models.CharField(max_length=16, choices=JobKind.choices)
    source = tenant_key("search.Source", "jobs", null=True, blank=True)
    payload = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=10, choices=JobState.choices, default=JobState.QUEUED)
    # Incremented by each claim. It is the fence: a worker that writes under an older attempt is refused.
    attempt = models.IntegerField(default=0)
    # Claims since an item was last finished; too many fail the job.
    stalled_attempts = models.IntegerField(default=0)
    # By Postgres' clock, like all times compared with it: the clocks of nodes differ, and jump.
    due_at = models.DateTimeField(db_default=models.functions.Now())
    lease_until = models.DateTimeField(null=True, blank=True)
    hinted_at = models.DateTimeField(null=True, blank=True)
    cancel_requested = models.BooleanField(default=False)
    # Chunks were written after this embedding job's last check; it checks again at its end.
    rerun_requested = models.BooleanField(default=False)
    discovered_at = models.DateTimeField(null=True, blank=True)
    items_total = models.IntegerField(default=0)
    items_done = models.IntegerField(default=0)
    bytes_done = models.BigIntegerField(default=0)
    chunks_done = models.IntegerField(default=0)
    # Number of calls of the parser, or for an embedding job of the embedder.
    calls = models.IntegerField(default=0)
    # {"new": 3, "updated": 0, …, "skipped": {"ignored": 2}, "failed": {"not_text": 1}, …}
    counts = models.JSONField(default=dict, blank=True)
    current_path = models.CharField(max_length=1000, blank=True, default="")
    error = models.TextField(blank=True, default="")
    # The change number that made the latest of its writes visible.
    seq = models.BigIntegerField(null=True, blank=True)
    requested_by = models.CharField(max_length=320, blank=True, default="")
    # The first job of its act, such as an upload of many files; None for that job itself.
    batch = models.UUIDField(null=True, blank=True)
    # Files that were refused or failed, written at its end.
    refused_items = models.IntegerField(default=0, db_default=0)
    # It failed, or refused files, and nobody has dismissed or retried it.
    needs_attention = models.BooleanField(default=False, db_default=False)
    # The request that created it, and its span in the format of W3C Trace Context; '' for none.
    request_id = models.CharField(max_length=64, blank=True, default="", db_default="")
    traceparent = models.CharField(max_length=64, blank=True, default="", db_default="")
    # Of two uploads of one document the later one counts.
    created_at = models.DateTimeField(db_default=models.functions.Now(), editable=False)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = JobQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at", "id")
        constraints = (
            models.CheckConstraint(condition=models.Q(state__in=JobState.values), name="job_state_known"),
            models.CheckConstraint(condition=models.Q(kind__in=JobKind.values), name="job_kind_known"),
            models.CheckConstraint(
                condition=models.Q(state__in=OPEN_STATES) | models.Q(finished_at__isnull=False),
                name="job_end_has_time",
            ),
            # One sync of a source runs at a time; others wait behind it.
            models.UniqueConstraint(
                fields=("workspace", "source"),
                condition=models.Q(state=JobState.RUNNING, kind=JobKind.SYNC_SOURCE),
                name="job_one_running_sync",
            ),
            models.UniqueConstraint(
                fields=("workspace",),
                condition=models.Q(state__in=OPEN_STATES, kind=JobKind.EMBED),
                name="job_one_embedding",
            ),
        )
        indexes = (
            models.Index(fields=("workspace", "-created_at"), name="job_by_time"),
            models.Index(fields=("-created_at",), name="job_newest"),
            models.Index(
                fields=("workspace", "due_at"), condition=models.Q(state__in=OPEN_STATES), name="job_open"
            ),
            models.Index(
                fields=("workspace", "-created_at", "id"),
                condition=models.Q(batch__isnull=True),
                name="job_acts",
            ),
            models.Index(
                fields=("workspace", "batch"), condition=models.Q(batch__isnull=False), name="job_by_batch"
            ),
            models.Index(
                fields=("workspace",), condition=models.Q(needs_attention=True), name="job_attention"
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

    @property
    def is_finished(self) -> bool:
        """Return whether the job has ended."""
        return self.state not in OPEN_STATES

    @property
    def is_whole_sync(self) -> bool:
        """Return whether the job is one of `whole_syncs`."""
        return self.kind == JobKind.SYNC_SOURCE and self.payload.keys().isdisjoint(_PARTS)


class ItemState(models.TextChoices):
    """The state of an item: pending until its outcome is committed together with its document."""

    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"


class JobItemQuerySet(TenantQuerySet["JobItem"]):
    """Queries for items."""

    def of_job(self, job: Job) -> "JobItemQuerySet":
        """Return the items of a job."""
        return self.in_workspace(job.workspace_id).filter(job=job.pk)


class JobItem(models.Model):
    """A path to ingest or delete. Attempts are counted before the work, to find items that kill workers."""

    id = models.BigAutoField(primary_key=True)
    workspace = workspace_key()
    job = tenant_key("ingest.Job", "items")
    path = models.CharField(max_length=1000)
    action = models.CharField(max_length=6, choices=(("ingest", "ingest"), ("delete", "delete")))
    state = models.CharField(max_length=7, choices=ItemState.choices, default=ItemState.PENDING)
    attempts = models.IntegerField(default=0)
    # new, updated, unchanged, deleted, skipped, failed; '' for a deletion without a document
    outcome = models.CharField(max_length=10, blank=True, default="")
    reason = models.CharField(max_length=64, blank=True, default="")
    detail = models.TextField(blank=True, default="")
    # What the document's reader left out or could not read; see `Document.omissions`.
    omissions = models.JSONField(default=dict, blank=True, db_default={})
    # Hash of the blob of an archive's member, of one of several documents uploaded together, or of bytes that
    # came with a record; empty for items that are read from their source.
    blob = models.CharField(max_length=64, blank=True, default="", db_default="")
    # What a connector of records reported about it; see `ingest.connectors.records.source`. Of one of several
    # documents uploaded together: the fields stated about it.
    record = models.JSONField(default=dict, blank=True, db_default={})

    objects = JobItemQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("workspace", "job", "path"), name="item_path_once"),
            models.CheckConstraint(condition=models.Q(state__in=ItemState.values), name="item_state_known"),
            models.CheckConstraint(
                condition=models.Q(action__in=("ingest", "delete")), name="item_action_known"
            ),
        )
        indexes = (
            models.Index(
                fields=("workspace", "job", "id"), condition=models.Q(state="pending"), name="item_pending"
            ),
            models.Index(fields=("workspace", "blob"), condition=~models.Q(blob=""), name="item_blob"),
        )

    def __str__(self) -> str:
        return f"{self.action} {self.path}"

    @property
    def omission_views(self) -> list[OmissionView]:
        """Return what was left out of the document, as it is shown."""
        return omission_views(self.omissions)
