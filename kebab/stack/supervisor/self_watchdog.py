"""A worker that finds itself stuck ends: not every supervisor asks whether what it started does its work."""

import logging
import os
import uuid
from collections.abc import Callable
from typing import Final

import redis
from django.conf import settings

from kebab.cli.errors import Exit
from kebab.stack.models import StackProcess
from kebab.stack.nodes.heartbeat import Activity
from kebab.stack.supervisor.watchdog import is_stuck

logger = logging.getLogger(__name__)

# With ten seconds between them: a worker whose machine stood still for minutes has started something by then.
_IN_A_ROW: Final = 3


class OwnWatch:
    """Asks after each sign of life what `kebab alive` asks; stuck three times in a row, the process ends.

    A time at which Postgres or Redis could not be asked, or something ran after all, begins a new row.
    """

    def __init__(self, activity: Callable[[], Activity], *, end: Callable[[], None] | None = None) -> None:
        self._activity = activity
        self._end = _end if end is None else end
        self._times = 0

    def look(self, process_id: uuid.UUID, was_cut_off: bool) -> None:
        """Look once, just after a sign of life; the one before it failed where `was_cut_off`.

        Raises Error when Postgres doesn't answer.
        """
        times, self._times = self._times, 0
        if was_cut_off or not self._is_stuck(process_id):
            return
        self._times = times + 1
        if self._times == _IN_A_ROW:
            StackProcess.objects.filter(pk=process_id).delete()
            self._end()

    def _is_stuck(self, process_id: uuid.UUID) -> bool:
        try:
            return is_stuck(process_id, settings.REDIS_URL) and not self._activity().busy
        except redis.RedisError as error:
            logger.warning("Whether this worker is stuck cannot be said at the moment: %s", error)
            return False


def _end() -> None:
    """End without the main thread, which may hang; the children have nothing to do, and end with it."""
    logger.critical("This worker has work and does none: it ends, for whoever supervises it to start another")
    os._exit(Exit.UNHEALTHY)
