"""Fair queues for threads: of several workspaces, one leaves a quarter of the threads to the others."""

from dataclasses import dataclass
from uuid import UUID

from django.conf import settings

from kebab.http.admission.fair_queue import Capacity, FairQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """The queue that a call waits in, and its name there."""

    queue: FairQueue
    name: str


class Lanes:
    """The lanes of a process; long calls, which wait for models, have a queue of their own.

    Not thread-safe: use it only in the thread of one event loop.
    """

    def __init__(self) -> None:
        self._quick, self._long = _build_queue(wait_s=5.0), _build_queue(wait_s=30.0)

    def of(self, workspace_id: UUID, *, is_long: bool) -> Lane:
        """Return the lane of a workspace's calls."""
        return Lane(queue=self._long if is_long else self._quick, name=str(workspace_id))


def _build_queue(*, wait_s: float) -> FairQueue:
    threads = settings.KEBAB_WEB_THREADS
    return FairQueue(Capacity(slots=threads, waiting=8 * threads, wait_s=wait_s))
