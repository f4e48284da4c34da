"""Observation of a stack and its jobs: progress, recoveries, and states that must never occur."""

import threading
import time
from dataclasses import dataclass
from typing import Any

import redis
from django.db import Error, connection

from ingest.models import Job, JobKind
from kebab.tenancy.current_workspace import acting_everywhere
from tests.support.stack import GaveUp, Stack

_PERIOD_S = 0.2
_COUNTED = (JobKind.SYNC_SOURCE, JobKind.INGEST_DOCUMENT)
# Fields that may never change after the end of a job.
_FINAL = ("state", "attempt", "items_done", "items_total", "finished_at", "seq", "error", "counts")


@dataclass(slots=True, kw_only=True)
class Kill:
    """A killed process, and the times of recovery, in seconds since the start of the drill."""

    victim: str
    pid: int
    at_s: float
    #: The progress at the servers' first answer after it.
    pulse: tuple[int, ...] | None = None
    #: Time until its place in the stack was taken again; None also for victims without a place.
    back_after_s: float | None = None
    progress_after_s: float | None = None


class Watch:
    """A thread beside the drill, which restarts `kebab up` after a kill, as a service manager would.

    `violations` has states that must never occur: progress that went back, a job that changed after its end.
    """

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._began_at = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self._jobs: dict[Any, Job] = {}
        self._pulse: tuple[int, ...] = ()
        self._pulse_at = time.monotonic()
        self.kills: list[Kill] = []
        self.violations: dict[str, None] = {}
        #: Finished files and uploads of all jobs.
        self.items_done = 0
        self.restarts = 0

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def now_s(self) -> float:
        """Return the seconds since the start of the drill."""
        return time.monotonic() - self._began_at

    def note_kill(self, victim: str, pid: int) -> None:
        """Observe the recovery from a kill that happened just now."""
        self.kills.append(Kill(victim=victim, pid=pid, at_s=self.now_s))

    def rest(self) -> None:
        """Start counting the time without progress anew."""
        self._pulse_at = time.monotonic()

    def require_life(self, patience_s: float) -> None:
        """Raise GaveUp when there was no progress for `patience_s` seconds."""
        still_s = time.monotonic() - self._pulse_at
        if still_s > patience_s:
            open_jobs = [
                f"{job.kind} {job.state} {job.items_done}/{job.items_total}" for job in self._open_jobs()
            ]
            raise GaveUp(f"No progress for {still_s:.0f} s; open jobs: {', '.join(open_jobs) or 'none'}")

    def _open_jobs(self) -> list[Job]:
        return [job for job in self._jobs.values() if not job.is_finished]

    @acting_everywhere()
    def _run(self) -> None:
        while not self._stop.wait(_PERIOD_S):
            self._tend()
            try:
                for job in Job.objects.all().order_by("created_at"):
                    self._check_job(job)
                self._take_pulse()
            except (Error, redis.RedisError, OSError):
                connection.close()
        connection.close()

    def _tend(self) -> None:
        if self._stack.is_ended:
            self._stack.spawn()
            self.restarts += 1
        self._stack.note_processes()
        pids = self._stack.pids()
        for kill in self.kills:
            if kill.back_after_s is None and self._is_back(kill, pids):
                kill.back_after_s = self.now_s - kill.at_s

    def _is_back(self, kill: Kill, pids: dict[str, int]) -> bool:
        if kill.victim in {"supervisor", "web"} and not self._stack.answers():
            return False
        return pids.get(kill.victim, kill.pid) != kill.pid

    def _check_job(self, job: Job) -> None:
        before, self._jobs[job.pk] = self._jobs.get(job.pk), job
        if before is None:
            return
        name = f"{job.kind} {str(job.pk)[:8]}"
        if job.items_done < before.items_done:
            self._record_violation(f"{name}: progress went back from {before.items_done} to {job.items_done}")
        if before.is_finished:
            for field in _FINAL:
                was, now = getattr(before, field), getattr(job, field)
                if was != now:
                    self._record_violation(f"{name} changed after its end: {field} was {was}, is {now}")

    def _record_violation(self, violation: str) -> None:
        self.violations[violation] = None

    def _take_pulse(self) -> None:
        jobs = self._jobs.values()
        self.items_done = sum(job.items_done for job in jobs if job.kind in _COUNTED)
        everything = sum(job.items_done for job in jobs)
        pulse = (everything, sum(job.is_finished for job in jobs))
        if pulse != self._pulse:
            self._pulse, self._pulse_at = pulse, time.monotonic()
        for kill in self.kills:
            if kill.pulse is None:
                kill.pulse = pulse
            elif kill.progress_after_s is None and kill.pulse != pulse:
                kill.progress_after_s = self.now_s - kill.at_s
