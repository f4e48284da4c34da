"""Items of jobs: one document each."""

from django.db import models

from ingest.models.job import Job
from kebab.tenancy.fields import tenant_key, workspace_key
from search.documents.omissions import OmissionView, omission_views
from search.models.tenant import TenantQuerySet


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
    # Hash of the blob of an archive's member, or of bytes that came with a record; empty for items that are
    # read from their source.
    blob = models.CharField(max_length=64, blank=True, default="", db_default="")
    # What a connector of records reported about it; see `ingest.connectors.records.source`.
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
