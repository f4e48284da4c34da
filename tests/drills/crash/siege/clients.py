"""Threads that work all the time; what each does is fixed by the seed, when it does it is not."""

import random
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from tests.drills.crash.siege.answers import Answers
from tests.drills.crash.siege.door import Door
from tests.drills.crash.siege.ledger import Ledger

T = TypeVar("T")

# Between two tries of what was refused.
_AGAIN_S = (0.1, 0.5)
# A job of a killed worker waits for its lease, and for the workers before it.
_JOB_POLL_S = 0.15


class Client(ABC):
    """One thread with connections of its own."""

    #: Between two of its deeds, in seconds: at least, at most.
    pause_s = (0.02, 0.3)

    def __init__(self, name: str, door: Door, ledger: Ledger, answers: Answers, *, seed: int) -> None:
        self.name = name
        self._door = door
        self._ledger = ledger
        self._answers = answers
        # What it does and when are apart: the first doesn't depend on how often it was refused.
        self._rng = random.Random(f"{name} {seed}")
        self._pauses = random.Random(f"{name} {seed} pauses")
        self._stop = threading.Event()
        self._abandon = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        #: Whether it stopped because it was asked to, not by an error of its own.
        self.has_finished = False

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def ask_to_stop(self) -> None:
        """End after what is being done, however long that takes."""
        self._stop.set()

    def has_stopped(self) -> bool:
        """Return whether the thread has ended."""
        return not self._thread.is_alive()

    def abandon(self) -> None:
        """End at once."""
        self._stop.set()
        self._abandon.set()

    @abstractmethod
    def do_one(self) -> None:
        """Do one deed, as often as it takes."""

    def persist(self, attempt: Callable[[], T | None]) -> T | None:
        """Try until it is answered; None only when abandoned."""
        while not self._abandon.is_set():
            answer = attempt()
            if answer is not None:
                return answer
            self._abandon.wait(self._pauses.uniform(*_AGAIN_S))
        return None

    def ended_job(self, job_id: str) -> dict[str, Any] | None:
        """The job once it has ended; None when abandoned. A job that did not succeed is noted as wrong."""

        def look() -> dict[str, Any] | None:
            answer = self._door.ask("job", "GET", f"/jobs/{job_id}")
            return answer.json() if answer is not None else None

        while not self._abandon.wait(_JOB_POLL_S):
            job = self.persist(look)
            if job is not None and job["finished_at"] is not None:
                if job["state"] != "succeeded":
                    self._answers.object(f"job of {self.name} {job['state']}: {job['error']}")
                return job
        return None

    def _run(self) -> None:
        try:
            while not self._stop.wait(self._pauses.uniform(*self.pause_s)):
                self.do_one()
            self.has_finished = True
        finally:
            self._door.close()
