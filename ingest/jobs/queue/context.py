"""What a worker holds while it works on a job, and how the work may end."""

from dataclasses import dataclass
from enum import Enum

from django.db.models import F

from ingest.errors import JobCancelled, LeaseLost, TurnOver
from ingest.jobs.queue.lease import Lease, LeaseKeeper
from ingest.models import Job
from kebab.people.models import Workspace
from kebab.stack.supervisor import worker_stop
from kebab.tenancy.current_workspace import acting_everywhere


class Ending(Enum):
    """How a stretch of work ended."""

    DONE = "done"
    CANCELLED = "cancelled"
    #: There is more to do; another job's turn first, or another worker goes on.
    YIELDED = "yielded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A claimed job, its workspace, and the lease that its writes go through."""

    job: Job
    workspace: Workspace
    lease: Lease
    keeper: LeaseKeeper

    @property
    def is_cancelled(self) -> bool:
        """Return whether to stop. Raises LeaseLost: the job is another worker's now; TurnOver: ours can't
        wait.
        """
        if self.keeper.is_lost:
            raise LeaseLost(f"Job {self.job.pk} has gone to another worker.")
        if worker_stop.is_urgent():
            raise TurnOver(f"Job {self.job.pk} is broken off: its worker stops.")
        return self.keeper.is_cancelled

    def go_on(self) -> None:
        """Return while the work is wanted. Raises JobCancelled, LeaseLost, TurnOver."""
        if self.is_cancelled:
            raise JobCancelled(f"Job {self.job.pk} was cancelled.")

    def others_wait(self, *, embedding: bool) -> bool:
        """Return whether another job of the same queue is due, in whatever workspace."""
        due = Job.objects.all().due().embedding(embedding).exclude(pk=self.job.pk)
        with acting_everywhere():
            return due.exists()

    def count_items(
        self, items: int, *, path: str, size_bytes: int = 0, chunks: int = 0, calls: int = 0
    ) -> None:
        """Count finished items, the last at `path`, behind the fence, in the transaction that writes them.

        Raises LeaseLost, or JobCancelled once the job's end was asked for: nothing is committed then.
        """
        held = self.lease.held()
        counted = held.filter(cancel_requested=False).update(
            items_done=F("items_done") + items,
            bytes_done=F("bytes_done") + size_bytes,
            chunks_done=F("chunks_done") + chunks,
            calls=F("calls") + calls,
            current_path=path,
            stalled_attempts=0,
            error="",
        )
        if not counted and held.exists():
            raise JobCancelled(f"Job {self.job.pk} was cancelled.")
        if not counted:
            raise LeaseLost(f"Job {self.job.pk} has gone to another worker.")

    def count_deleted(self, documents: int) -> None:
        """Count documents that went with an item whose outcome is not that it was deleted.

        In the transaction that deletes them, behind the fence. Raises LeaseLost.
        """
        counts = self.lease.held().select_for_update().values_list("counts", flat=True).first() or {}
        self.lease.write(counts={**counts, "deleted": counts.get("deleted", 0) + documents})
