"""Leases of jobs: claimed in one step, renewed by a thread, checked by every write (the fence).

Postgres' clock decides. A worker whose lease ran out meanwhile finds its fence closed and rolls back.
"""

import logging
import threading
import time
import uuid
from contextvars import copy_context
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from types import TracebackType
from typing import Any, Self

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, IntegrityError, connection, connections, models, transaction
from django.db.models.functions import Now

from ingest.errors import LeaseLost
from ingest.metrics import CLAIMS
from ingest.models import Job, JobState
from kebab.database.interruption import Interruption
from kebab.database.transactions import local_transaction
from kebab.runtime import failpoints
from kebab.tenancy.current_workspace import acting_in

logger = logging.getLogger(__name__)

#: Number of claims without a finished item in between after which a job is given up.
MAX_STALLED_ATTEMPTS = 8
# A sync that waits behind another of its source is tried again after this.
_RETRY_BEHIND_SYNC = timedelta(seconds=2)
_RENEW_S = 10.0
_WATCH_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to work on a job under one attempt number."""

    workspace_id: uuid.UUID
    job_id: uuid.UUID
    attempt: int
    kind: str = ""
    #: The request that asked for the job, and its span.
    request_id: str = ""
    traceparent: str = ""

    def fenced_rows(self) -> models.QuerySet[Job]:
        """Return the job's row if this lease is still valid, else no row: the fence of every write."""
        rows = Job.objects.in_workspace(self.workspace_id).filter(pk=self.job_id)
        if not failpoints.is_on("fence"):
            return rows
        return rows.filter(state=JobState.RUNNING, attempt=self.attempt)

    def write(self, **fields: Any) -> None:
        """Write to the job behind the fence. Raises LeaseLost; the caller's transaction then rolls back."""
        if not self.fenced_rows().update(**fields):
            raise LeaseLost(f"Job {self.job_id} is no longer ours (attempt {self.attempt}).")


def claim(workspace_id: uuid.UUID, job_id: uuid.UUID) -> Lease | None:
    """Claim a due job; None when it isn't due, another worker has it, or its source is being synced."""
    try:
        lease = _claim(workspace_id, job_id)
    except IntegrityError:  # the constraint that one sync of a source runs at a time
        waiting = Job.objects.in_workspace(workspace_id).filter(pk=job_id, state=JobState.QUEUED)
        waiting.update(due_at=Now() + _RETRY_BEHIND_SYNC)
        return None
    if lease is not None:
        CLAIMS.add(lease.kind)
    failpoints.reach("after_claim")
    return lease


def _claim(workspace_id: uuid.UUID, job_id: uuid.UUID) -> Lease | None:
    with transaction.atomic():
        due = Job.objects.in_workspace(workspace_id).due().filter(pk=job_id)
        job = due.select_for_update(skip_locked=True).first()
        if job is None:
            return None
        Job.objects.in_workspace(workspace_id).filter(pk=job_id).update(
            state=JobState.RUNNING,
            attempt=job.attempt + 1,
            stalled_attempts=job.stalled_attempts + 1,
            lease_until=_lease_end(),
            started_at=job.started_at or Now(),
        )
    return Lease(
        workspace_id=workspace_id,
        job_id=job_id,
        attempt=job.attempt + 1,
        kind=job.kind,
        request_id=job.request_id,
        traceparent=job.traceparent,
    )


def _lease_end() -> models.expressions.CombinedExpression:
    return Now() + timedelta(seconds=settings.KEBAB_LEASE_S)


class LeaseKeeper:
    """A thread that renews a lease while its worker works, and watches for a request to cancel.

    Use it as a context manager; check `is_lost` and `is_cancelled` between items. Once the job is cancelled
    it interrupts the statements of its worker each second, until the worker has left the context.
    """

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self._stop = threading.Event()
        self._lost = threading.Event()
        self._cancelled = threading.Event()
        worker = connections[DEFAULT_DB_ALIAS]  # the wrapper of this thread, which may reconnect
        self.interruption = Interruption()
        self.interruption.add(lambda: worker.connection)
        keep = partial(copy_context().run, self._renew)
        self._thread = threading.Thread(target=keep, name=f"lease-{lease.job_id}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def is_lost(self) -> bool:
        """Return whether another worker has the job now."""
        return self._lost.is_set()

    @property
    def is_cancelled(self) -> bool:
        """Return whether cancellation of the job was requested."""
        return self._cancelled.is_set()

    def _renew(self) -> None:
        with acting_in(self._lease.workspace_id):
            self._renew_until_stopped()

    def _renew_until_stopped(self) -> None:
        renewed_at = time.monotonic()
        try:
            while not self._stop.wait(_WATCH_S):
                checked_at = time.monotonic()
                renew = checked_at - renewed_at >= min(_RENEW_S, settings.KEBAB_LEASE_S / 4)
                try:
                    self._check_lease(renew=renew)
                except Error as error:
                    logger.warning("lease of job %s can't be renewed: %s", self._lease.job_id, error)
                    connection.close()  # the next check opens a new one
                    continue
                renewed_at = checked_at if renew else renewed_at
        finally:
            connection.close()

    @local_transaction()
    def _renew_rows(self) -> int:
        return self._lease.fenced_rows().update(lease_until=_lease_end())

    def _check_lease(self, *, renew: bool) -> None:
        if renew and not self._renew_rows():
            self._lost.set()
        cancelled = self._lease.fenced_rows().values_list("cancel_requested", flat=True).first()
        if cancelled is None:
            self._lost.set()
        elif cancelled:
            self._cancelled.set()
            self.interruption.interrupt()
