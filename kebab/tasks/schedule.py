"""Celery's beat by a clock that nobody sets.

Its own goes by the time of day: where that is set back by an hour, nothing is sent for an hour.
"""

from time import monotonic

from celery.beat import ScheduleEntry, Scheduler
from celery.schedules import schedstate


class SteadyEntry(ScheduleEntry):
    """A task that is due again so many seconds after it was sent; `last_run_at` is of `time.monotonic`."""

    def default_now(self) -> float:
        """Return the present moment."""
        return monotonic()

    def is_due(self) -> schedstate:
        """Return whether it is due, and in how many seconds to look again."""
        period_s = self.schedule.seconds
        left_s = self.last_run_at + period_s - self.default_now()
        return schedstate(is_due=left_s <= 0, next=left_s if left_s > 0 else period_s)


class SteadyScheduler(Scheduler):
    """Sends what is due again and again, each so many seconds after the last time."""

    Entry = SteadyEntry

    def _when(self, entry: SteadyEntry, next_time_to_run: float, *_: object) -> float:
        return entry.default_now() + (self.adjust(next_time_to_run) or 0)
