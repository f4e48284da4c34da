"""Following jobs from a verb: their progress as bars, their end, and the embedding that comes behind."""

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
from kebab.people.operator import the_operator
from search.cli.progress_bars import Bar, bar

_POLL_S = 0.2
_SHOWN_REASON_CHARS = 48
_LISTED = frozenset({JobKind.SYNC_SOURCE, JobKind.INGEST_ARCHIVE})
# A running job notices within seconds that it is to end.
_CANCEL_LIMIT_S = 20.0


def follow(job: Job, console: Console, title: str) -> Job:
    """Show a job's progress until its end, and give it as it ended. Raises CliError when it vanishes.

    Ctrl-C cancels the job and goes on as KeyboardInterrupt once it has ended.
    """
    with bar(console, title) as shown:
        try:
            job = await_end(job, lambda job: _show(shown, job))
            if job.state == "succeeded":
                shown.finish()
            return job
        except KeyboardInterrupt:
            # Whatever the interrupted query left behind goes with its connection.
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
    """Look at a job until it has ended, or `is_over` says so, and give it then.

    Raises CliError when it vanishes.
    """
    while True:
        job = fresh(job)
        on_look(job)
        if job.is_finished or is_over(job):
            return job
        time.sleep(poll_s)


def fresh(job: Job) -> Job:
    """Return the job as it is now. Raises CliError when it is gone with its workspace."""
    found = Job.objects.in_workspace(job.workspace_id).select_related("source").filter(pk=job.pk).first()
    if found is None:
        raise CliError(
            f"Job {job.pk} is gone; was its workspace deleted?", code="not_found", exit_code=Exit.NOTHING
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingWatch:
    """The embedding jobs of a workspace from a moment on."""

    workspace: Workspace
    #: Calls that jobs which were open at that moment had already made.
    earlier_calls: Mapping[uuid.UUID, int]
    since: Job

    @classmethod
    def begun_with(cls, job: Job, workspace: Workspace) -> Self:
        """Watch from the request of `job` on."""
        return cls(
            workspace=workspace,
            earlier_calls={each.pk: each.calls for each in _open_jobs(workspace)},
            since=job,
        )

    def follow(self, console: Console) -> None:
        """Show the embedding's progress until no job is open. Ctrl-C stops looking; the embedding goes on."""
        if open_job(self.workspace) is None:
            return
        with bar(console, "Embedding") as shown:
            try:
                while (job := open_job(self.workspace)) is not None and not _waits(job):
                    await_end(job, lambda job: _show(shown, job), is_over=_waits)
            except KeyboardInterrupt:
                connection.close()
                raise
            shown.finish()

    @property
    def calls(self) -> int:
        """Return how many texts went through the embedder since."""
        return sum(job.calls for job in self._jobs()) - sum(self.earlier_calls.values())

    @property
    def error(self) -> str | None:
        """Return why the latest embedding job failed, None when it didn't."""
        latest = self._jobs().order_by("-created_at").first()
        if latest is None or not (latest.state == "failed" or _waits(latest)):
            return None
        return latest.error or None

    def _jobs(self) -> "models.QuerySet[Job]":
        jobs = Job.objects.in_workspace(self.workspace).filter(kind=JobKind.EMBED)
        return jobs.filter(pk__in=list(self.earlier_calls)) | jobs.filter(
            created_at__gte=self.since.created_at
        )


def open_job(workspace: Workspace) -> Job | None:
    """Return the workspace's embedding job that is waiting or running."""
    return _open_jobs(workspace).first()


def _open_jobs(workspace: Workspace) -> "models.QuerySet[Job]":
    return Job.objects.in_workspace(workspace).filter(kind=JobKind.EMBED, state__in=OPEN_STATES)


def _waits(job: Job) -> bool:
    """Return whether an embedding job was put off because its embedder does not answer."""
    return not job.is_finished and bool(job.error)


def _show(shown: Bar, job: Job) -> None:
    # Until a source or an archive has been listed, the total stands for nothing.
    is_listed = job.kind not in _LISTED or job.discovered_at is not None
    total = job.items_total if is_listed else 0
    # A job that was put off tells why, and where it is once it goes on.
    waits_for = shorten(job.error, _SHOWN_REASON_CHARS, placeholder="…")
    shown.show(job.items_done, total, at=waits_for or job.current_path)


def _cancel(job: Job) -> None:
    try:
        cancel_job(the_operator(job.workspace), job)
    except JobNotOpen:
        return
    deadline = time.monotonic() + _CANCEL_LIMIT_S
    while not fresh(job).is_finished and time.monotonic() < deadline:
        time.sleep(_POLL_S)
