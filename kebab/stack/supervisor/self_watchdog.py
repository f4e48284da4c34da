"""A watchdog inside a worker that ends it when it is stuck, as not every supervisor checks for that."""

import logging
import os
import uuid
from collections.abc import Callable
from typing import Final

import redis
from django.conf import settings

from kebab.exit_codes import Exit
from kebab.stack.models import StackProcess
from kebab.stack.nodes.heartbeat import Activity
from kebab.stack.supervisor.watchdog import is_stuck

logger = logging.getLogger(__name__)

# Ten seconds apart: a worker whose machine was suspended for minutes has started a task by then.
_IN_A_ROW: Final = 3


class SelfWatchdog:
    """Checks after each heartbeat whether this worker is stuck; after three times in a row it ends.

    The count restarts if Postgres or Redis could not be queried, or if a task runs after all.
    """

    def __init__(self, activity: Callable[[], Activity], *, end: Callable[[], None] | None = None) -> None:
        self._activity = activity
        self._end = _exit_process if end is None else end
        self._stuck_count = 0

    def check(self, process_id: uuid.UUID, was_cut_off: bool) -> None:
        """Check once, after a heartbeat; `was_cut_off` if the previous heartbeat failed.

        Raises Error when Postgres doesn't answer.
        """
        stuck_count, self._stuck_count = self._stuck_count, 0
        if was_cut_off or not self._is_stuck(process_id):
            return
        self._stuck_count = stuck_count + 1
        if self._stuck_count == _IN_A_ROW:
            StackProcess.objects.filter(pk=process_id).delete()
            self._end()

    def _is_stuck(self, process_id: uuid.UUID) -> bool:
        try:
            return is_stuck(process_id, settings.REDIS_URL) and not self._activity().busy
        except redis.RedisError as error:
            logger.warning("Whether this worker is stuck cannot be said at the moment: %s", error)
            return False


def _exit_process() -> None:
    """Exit at once, as the main thread may hang; the children are idle and end with the process."""
    logger.critical("This worker has work and does none: it ends, for whoever supervises it to start another")
    os._exit(Exit.UNHEALTHY)
