"""Context of a claimed job, and the outcomes of running it."""

from dataclasses import dataclass
from enum import Enum

from django.db.models import F

from ingest.errors import JobCancelled, JobFailed, JobYielded, LeaseLost
from ingest.jobs.queue.lease import Lease, LeaseKeeper
from ingest.models import Job
from kebab.identity.models import Workspace
from kebab.stack.supervisor import worker_stop
from kebab.tenancy.current_workspace import acting_everywhere
from search.models import Source


class Ending(Enum):
    """The outcome of one attempt to run a job."""

    DONE = "done"
    CANCELLED = "cancelled"
    #: There is more to do: other jobs go first, or another worker continues.
    YIELDED = "yielded"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobContext:
    """A claimed job, its workspace, and the lease that its writes go through."""

    job: Job
    workspace: Workspace
    lease: Lease
    keeper: LeaseKeeper

    @property
    def is_cancelled(self) -> bool:
        """Return whether the job was cancelled.

        Raises LeaseLost when another worker has the job, JobYielded when this worker must stop at once.
        """
        if self.keeper.is_lost:
            raise LeaseLost(f"Job {self.job.pk} has gone to another worker.")
        if worker_stop.is_urgent():
            raise JobYielded(f"Job {self.job.pk} is broken off: its worker stops.")
        return self.keeper.is_cancelled

    @property
    def source(self) -> Source:
        """Return the job's source. Raises JobFailed when it is gone."""
        source: Source | None = self.job.source
        if source is None:
            raise JobFailed("The source was deleted before the job was carried out.")
        return source

    def ending(self) -> Ending | None:
        """Return how the job ends if it was cancelled or its worker stops, else None; see `is_cancelled`."""
        if self.is_cancelled:
            return Ending.CANCELLED
        return Ending.YIELDED if worker_stop.is_requested() else None

    def raise_if_stopped(self) -> None:
        """Raise JobCancelled, LeaseLost or JobYielded if the job must not continue; return otherwise."""
        if self.is_cancelled:
            raise JobCancelled(f"Job {self.job.pk} was cancelled.")

    def others_wait(self, *, embedding: bool) -> bool:
        """Return whether another job of the same queue is due, in any workspace."""
        due = Job.objects.all().due().embedding(embedding).exclude(pk=self.job.pk)
        with acting_everywhere():
            return due.exists()

    def count_items(
        self, items: int, *, path: str, size_bytes: int = 0, chunks: int = 0, calls: int = 0
    ) -> None:
        """Count finished items, the last at `path`, behind the fence, in the transaction that writes them.

        Raises LeaseLost, or JobCancelled once cancellation was requested: nothing is committed then.
        """
        fenced_rows = self.lease.fenced_rows()
        counted = fenced_rows.filter(cancel_requested=False).update(
            items_done=F("items_done") + items,
            bytes_done=F("bytes_done") + size_bytes,
            chunks_done=F("chunks_done") + chunks,
            calls=F("calls") + calls,
            current_path=path,
            stalled_attempts=0,
            error="",
        )
        if not counted and fenced_rows.exists():
            raise JobCancelled(f"Job {self.job.pk} was cancelled.")
        if not counted:
            raise LeaseLost(f"Job {self.job.pk} has gone to another worker.")

    def count_deleted(self, documents: int) -> None:
        """Count documents that were deleted with an item whose own outcome is not `deleted`.

        Call it in the transaction that deletes them; it writes behind the fence. Raises LeaseLost.
        """
        counts = self.lease.fenced_rows().select_for_update().values_list("counts", flat=True).first() or {}
        self.lease.write(counts={**counts, "deleted": counts.get("deleted", 0) + documents})
