"""Progress of jobs, and of the embedding jobs that follow them."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from textwrap import shorten
from typing import Any, Self

from kebab.cli.client.connection import ApiProblem
from kebab.cli.client.terminal import Terminal
from kebab.cli.client.workspaces import WorkspaceApi
from kebab.cli.errors import NotFound
from kebab.cli.progress_bars import Bar, bar

Job = Mapping[str, Any]
_POLL_S = 0.25
_SHOWN_REASON_CHARS = 48
_LISTED = frozenset({"sync_source", "ingest_archive"})
_ENDED = frozenset({"succeeded", "failed", "cancelled"})
# A running job notices its cancellation within seconds.
_CANCEL_LIMIT_S = 20.0


def is_finished(job: Job) -> bool:
    """Return whether the job has ended."""
    return job["state"] in _ENDED


def reload_job(workspace: WorkspaceApi, job: Job) -> Job:
    """Return the job as it is now, with its report. Raises CliError when its workspace was deleted."""
    found: Job | None = workspace.get_or_none(f"/jobs/{job['id']}")
    if found is None:
        raise NotFound(f"Job {job['id']} is gone; was its workspace deleted?")
    return found


def follow(workspace: WorkspaceApi, job: Job, terminal: Terminal, title: str) -> Job:
    """Show a job's progress until its end, and return the ended job.

    Ctrl-C cancels the job and continues as KeyboardInterrupt once the job has ended.
    """
    with bar(terminal.remarks, title) as progress:
        try:
            job = _await_end(workspace, job, progress, is_over=is_finished)
            if job["state"] == "succeeded":
                progress.finish()
            return job
        except KeyboardInterrupt:
            _cancel(workspace, job)
            raise


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingWatch:
    """The embedding jobs of a workspace from the request of a job on."""

    workspace: WorkspaceApi
    #: Vectors made before by the jobs that were open at that time.
    earlier: Mapping[str, int]
    since: str

    @classmethod
    def start(cls, workspace: WorkspaceApi, job: Job | None) -> Self:
        """Start watching from the request of `job` on, or from now."""
        earlier = {each["id"]: each["items_done"] for each in _open_jobs(workspace)}
        latest = next(workspace.rows("/jobs", 1), None) if job is None else job
        return cls(workspace=workspace, earlier=earlier, since="" if latest is None else latest["created_at"])

    def follow(self, terminal: Terminal, limit_s: float = math.inf) -> int:
        """Show the embedding's progress until no job is open, or for `limit_s`; return the chunks left.

        Ctrl-C ends the display, not the embedding.
        """
        if not _open_jobs(self.workspace):
            return 0
        deadline = time.monotonic() + limit_s
        with bar(terminal.remarks, "Embedding") as progress:
            while (jobs := _open_jobs(self.workspace)) and not _is_postponed(jobs[0]):
                job = _await_end(
                    self.workspace,
                    jobs[0],
                    progress,
                    is_over=lambda job: _has_stopped(job) or time.monotonic() > deadline,
                )
                if not _has_stopped(job):
                    return int(job["items_total"]) - int(job["items_done"])
            progress.finish()
        return 0

    @property
    def calls(self) -> int:
        """Return the number of vectors made since the start of the watch."""
        return sum(int(job["items_done"]) for job in self._jobs()) - sum(self.earlier.values())

    @property
    def error(self) -> str | None:
        """Return the error of the latest embedding job, None when it didn't fail."""
        latest = next(iter(self._jobs()), None)
        if latest is None or not (latest["state"] == "failed" or _is_postponed(latest)):
            return None
        return latest["error"] or None

    def _jobs(self) -> list[Job]:
        """Return the jobs that were open at the start, and those created since, the latest first."""
        jobs = self.workspace.rows("/jobs", 100, kind="embed")
        return [job for job in jobs if job["id"] in self.earlier or job["created_at"] >= self.since]


def _open_jobs(workspace: WorkspaceApi) -> list[Job]:
    return list(workspace.rows("/jobs", 10, kind="embed", state=["queued", "running"]))


def _is_postponed(job: Job) -> bool:
    """Return whether an embedding job is postponed because its embedder does not answer."""
    return not is_finished(job) and bool(job["error"])


def _has_stopped(job: Job) -> bool:
    return is_finished(job) or _is_postponed(job)


def _await_end(workspace: WorkspaceApi, job: Job, progress: Bar, *, is_over: Callable[[Job], bool]) -> Job:
    while True:
        job = reload_job(workspace, job)
        _show(progress, job)
        if is_over(job):
            return job
        time.sleep(_POLL_S)


def _show(progress: Bar, job: Job) -> None:
    # Until a source or an archive has been listed, the total is meaningless.
    is_listed = job["kind"] not in _LISTED or job["is_listed"]
    # A job that waits shows the reason, a running one its current path.
    reason = job["error"] or ("waiting for its turn" if job["state"] == "queued" else "")
    waits_for = shorten(reason, _SHOWN_REASON_CHARS, placeholder="…")
    progress.show(
        job["items_done"], job["items_total"] if is_listed else 0, at=waits_for or job["current_path"]
    )


def _cancel(workspace: WorkspaceApi, job: Job) -> None:
    try:
        workspace.post(f"/jobs/{job['id']}/cancel")
    except ApiProblem as problem:
        if problem.status == 409:  # it has ended
            return
        raise
    deadline = time.monotonic() + _CANCEL_LIMIT_S
    while not is_finished(reload_job(workspace, job)) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
