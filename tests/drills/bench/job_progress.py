"""Jobs of measurements, followed in the database, whose polls cost less time than requests."""

import time
from collections.abc import Callable
from textwrap import shorten

from django.db import connection
from rich.console import Console

from ingest.errors import JobNotOpen
from ingest.models import Job, JobKind
from ingest.services.jobs import cancel_job
from kebab.cli.errors import NotFound
from kebab.cli.progress_bars import Bar, bar
from kebab.people.operator import command_line_access

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
        raise NotFound(f"Job {job.pk} is gone; was its workspace deleted?")
    return found


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
