"""A Celery beat scheduler that uses the monotonic clock.

Celery's own uses the time of day: when that is set back by an hour, nothing is sent for an hour.
"""

from time import monotonic

from celery import schedules
from celery.beat import ScheduleEntry, Scheduler
from celery.schedules import schedstate


class SteadyEntry(ScheduleEntry):
    """A task that is due one period after it was last sent; `last_run_at` is by `time.monotonic`."""

    schedule: schedules.schedule
    last_run_at: float  # type: ignore[assignment]  # not the time of day

    def default_now(self) -> float:  # type: ignore[override]  # not the time of day
        """Return the current time by the monotonic clock."""
        return monotonic()

    def is_due(self) -> schedstate:
        """Return whether the task is due, and the seconds until the next check."""
        period_s = self.schedule.seconds
        left_s = self.last_run_at + period_s - self.default_now()
        return schedstate(is_due=left_s <= 0, next=left_s if left_s > 0 else period_s)


class SteadyScheduler(Scheduler):
    """A scheduler that sends each task one period after it was last sent."""

    Entry = SteadyEntry

    def _when(self, entry: SteadyEntry, next_time_to_run: float, *_: object) -> float:
        return entry.default_now() + (self.adjust(next_time_to_run) or 0)  # type: ignore[arg-type]  # it takes fractions, too
