"""Fair queues for threads: of several callers, one leaves a quarter of the threads to the others."""

from dataclasses import dataclass

from django.conf import settings

from kebab.http.admission.fair_queue import Capacity, FairQueue, Usage
from kebab.runtime.connection_limits import REFUSAL_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """The queue that a call waits in, and its name there."""

    queue: FairQueue
    name: str


class Lanes:
    """The lanes of a process; long calls, which wait for models, have a queue of their own.

    Not thread-safe: use it only in the thread of one event loop.
    """

    def __init__(self, usage: Usage | None = None) -> None:
        """Take the use of threads that the calls are charged to."""
        self._quick, self._long = (_build_queue(usage, is_long=is_long) for is_long in (False, True))

    def of(self, share: str, *, is_long: bool) -> Lane:
        """Return the lane of the calls of a caller, by `Caller.share`."""
        return Lane(queue=self._long if is_long else self._quick, name=share)


def _build_queue(usage: Usage | None, *, is_long: bool) -> FairQueue:
    threads, wait_s = settings.KEBAB_WEB_THREADS, 30.0 if is_long else 5.0
    limits = Capacity(
        slots=threads, waiting=8 * threads, wait_s=wait_s, computes=not is_long, refusal_s=REFUSAL_S
    )
    return FairQueue(limits, usage)
