"""Activity of a Celery worker, as known to its main process."""

import time

from celery.worker import state

from kebab.stack.nodes.heartbeat import Activity


class WorkerActivity:
    """Counts running tasks, and dates the last start to within one heartbeat."""

    def __init__(self) -> None:
        self._started = 0
        self._last_started_at: float | None = None

    def now(self) -> Activity:
        """Return the activity since the last call."""
        started = state.all_total_count[0]
        if started != self._started:
            self._started = started
            self._last_started_at = time.monotonic()
        last = self._last_started_at
        return Activity(
            busy=len(state.active_requests),
            idle_s=None if last is None else time.monotonic() - last,
            info={"tasks_started": started},
        )
