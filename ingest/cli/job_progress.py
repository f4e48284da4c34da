"""Progress bars of jobs on the command line, and of the embedding jobs that follow them."""

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from textwrap import shorten
from typing import Self

from django.db import connection, models
from rich.console import Console

from ingest.errors import JobNotOpen
from ingest.models import OPEN_STATES, Job, JobKind
from ingest.services.jobs import cancel_job
from kebab.cli.errors import CliError, Exit
from kebab.people.models import Workspace
from kebab.people.operator import command_line_access
from search.cli.progress_bars import Bar, bar

_POLL_S = 0.2
_SHOWN_REASON_CHARS = 48
_LISTED = frozenset({JobKind.SYNC_SOURCE, JobKind.INGEST_ARCHIVE})
# A running job notices its cancellation within seconds.
_CANCEL_LIMIT_S = 20.0


def follow(job: Job, console: Console, title: str) -> Job:
    """Show a job's progress until its end, and return the ended job. Raises CliError when it is deleted.

    Ctrl-C cancels the job and continues as KeyboardInterrupt once the job has ended.
    """
    with bar(console, title) as progress:
        try:
            job = await_end(job, lambda job: _show(progress, job))
            if job.state == "succeeded":
                progress.finish()
            return job
        except KeyboardInterrupt:
            # Closing the connection discards the state of the interrupted query.
            connection.close()
            _cancel(job)
            raise


def await_end(
    job: Job,
    on_look: Callable[[Job], None] = lambda job: None,
    *,
    poll_s: float = _POLL_S,
    is_over: Callable[[Job], bool] = lambda job: False,
) -> Job:
    """Poll a job until it has ended or `is_over` is true, and return it.

    Raises CliError when it is deleted.
    """
    while True:
        job = reload_job(job)
        on_look(job)
        if job.is_finished or is_over(job):
            return job
        time.sleep(poll_s)


def reload_job(job: Job) -> Job:
    """Read the job from the database again. Raises CliError when it was deleted with its workspace."""
    found = Job.objects.in_workspace(job.workspace_id).select_related("source").filter(pk=job.pk).first()
    if found is None:
        raise CliError(
            f"Job {job.pk} is gone; was its workspace deleted?", code="not_found", exit_code=Exit.NOTHING
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingWatch:
    """The embedding jobs of a workspace from the request of a job on."""

    workspace: Workspace
    #: Calls made before by the jobs that were open at that time.
    earlier_calls: Mapping[uuid.UUID, int]
    since: Job

    @classmethod
    def start(cls, job: Job, workspace: Workspace) -> Self:
        """Start watching from the request of `job` on."""
        return cls(
            workspace=workspace,
            earlier_calls={each.pk: each.calls for each in _open_jobs(workspace)},
            since=job,
        )

    def follow(self, console: Console) -> None:
        """Show the embedding's progress until no job is open. Ctrl-C ends the display, not the embedding."""
        if find_open_job(self.workspace) is None:
            return
        with bar(console, "Embedding") as progress:
            try:
                while (job := find_open_job(self.workspace)) is not None and not _is_postponed(job):
                    await_end(job, lambda job: _show(progress, job), is_over=_is_postponed)
            except KeyboardInterrupt:
                connection.close()
                raise
            progress.finish()

    @property
    def calls(self) -> int:
        """Return the number of texts embedded since the start of the watch."""
        return sum(job.calls for job in self._jobs()) - sum(self.earlier_calls.values())

    @property
    def error(self) -> str | None:
        """Return the error of the latest embedding job, None when it didn't fail."""
        latest = self._jobs().order_by("-created_at").first()
        if latest is None or not (latest.state == "failed" or _is_postponed(latest)):
            return None
        return latest.error or None

    def _jobs(self) -> "models.QuerySet[Job]":
        jobs = Job.objects.in_workspace(self.workspace).filter(kind=JobKind.EMBED)
        return jobs.filter(pk__in=list(self.earlier_calls)) | jobs.filter(
            created_at__gte=self.since.created_at
        )


def find_open_job(workspace: Workspace) -> Job | None:
    """Return the workspace's waiting or running embedding job, None without one."""
    return _open_jobs(workspace).first()


def _open_jobs(workspace: Workspace) -> "models.QuerySet[Job]":
    return Job.objects.in_workspace(workspace).filter(kind=JobKind.EMBED, state__in=OPEN_STATES)


def _is_postponed(job: Job) -> bool:
    """Return whether an embedding job is postponed because its embedder does not answer."""
    return not job.is_finished and bool(job.error)


def _show(progress: Bar, job: Job) -> None:
    # Until a source or an archive has been listed, the total is meaningless.
    is_listed = job.kind not in _LISTED or job.discovered_at is not None
    total = job.items_total if is_listed else 0
    # A postponed job shows the reason, a running one its current path.
    waits_for = shorten(job.error, _SHOWN_REASON_CHARS, placeholder="…")
    progress.show(job.items_done, total, at=waits_for or job.current_path)


def _cancel(job: Job) -> None:
    try:
        cancel_job(command_line_access(job.workspace), job)
    except JobNotOpen:
        return
    deadline = time.monotonic() + _CANCEL_LIMIT_S
    while not reload_job(job).is_finished and time.monotonic() < deadline:
        time.sleep(_POLL_S)
