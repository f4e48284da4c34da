"""Base class of client threads; the seed determines their actions, but not the times."""

import random
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from tests.drills.crash.siege.answers import Answers
from tests.drills.crash.siege.door import Door
from tests.drills.crash.siege.ledger import Ledger

T = TypeVar("T")

# Pause before a retry.
_AGAIN_S = (0.1, 0.5)
# A job of a killed worker waits for its lease, and for earlier jobs.
_JOB_POLL_S = 0.15


class Client(ABC):
    """One thread with connections of its own."""

    #: Minimum and maximum pause between two actions, in seconds.
    pause_s = (0.02, 0.3)

    def __init__(self, name: str, door: Door, ledger: Ledger, answers: Answers, *, seed: int) -> None:
        self.name = name
        self._door = door
        self._ledger = ledger
        self._answers = answers
        # Separate generators: the actions must not depend on the number of retries.
        self._rng = random.Random(f"{name} {seed}")
        self._pauses = random.Random(f"{name} {seed} pauses")
        self._stop = threading.Event()
        self._abandon = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        #: Whether it stopped on request, and not by an error.
        self.has_finished = False

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def ask_to_stop(self) -> None:
        """Request a stop after the present action, however long that takes."""
        self._stop.set()

    def has_stopped(self) -> bool:
        """Return whether the thread has ended."""
        return not self._thread.is_alive()

    def abandon(self) -> None:
        """Request an immediate stop."""
        self._stop.set()
        self._abandon.set()

    @abstractmethod
    def act(self) -> None:
        """Do one action, with as many tries as necessary."""

    def persist(self, attempt: Callable[[], T | None]) -> T | None:
        """Retry until there is an answer; return None only when abandoned."""
        while not self._abandon.is_set():
            answer = attempt()
            if answer is not None:
                return answer
            self._abandon.wait(self._pauses.uniform(*_AGAIN_S))
        return None

    def await_job(self, job_id: str) -> dict[str, Any] | None:
        """Return the job once it has ended, None when abandoned; record a failed job as wrong."""

        def look() -> dict[str, Any] | None:
            answer = self._door.ask("job", "GET", f"/jobs/{job_id}")
            return answer.json() if answer is not None else None

        while not self._abandon.wait(_JOB_POLL_S):
            job = self.persist(look)
            if job is not None and job["finished_at"] is not None:
                if job["state"] != "succeeded":
                    self._answers.record_wrong(f"job of {self.name} {job['state']}: {job['error']}")
                return job
        return None

    def _run(self) -> None:
        try:
            while not self._stop.wait(self._pauses.uniform(*self.pause_s)):
                self.act()
            self.has_finished = True
        finally:
            self._door.close()
