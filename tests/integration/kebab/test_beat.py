"""Beat sends due entries by a monotonic clock, also when the time of day is set back or forward."""

from datetime import UTC, datetime, timedelta

import pytest

from kebab.celery import app
from kebab.tasks import schedule
from kebab.tasks.schedule import SteadyScheduler

_PERIODS_S = {"sweep": 5.0, "rare": 60.0}
_STEP_S = 0.5
_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


class Clocks:
    """Replaces a machine's clocks: one is monotonic, the other can be set."""

    def __init__(self) -> None:
        self.steady_s = 1_000.0
        self.set_by = timedelta(0)

    def time_of_day(self) -> datetime:
        """Return the time of day, which Celery reads."""
        return _BEGAN + self.set_by + timedelta(seconds=self.steady_s)


@pytest.fixture
def clocks(monkeypatch):
    clocks = Clocks()
    monkeypatch.setattr(app, "now", clocks.time_of_day)
    monkeypatch.setattr(schedule, "monotonic", lambda: clocks.steady_s)
    return clocks


class NotingScheduler(SteadyScheduler):
    """Notes the entries that would be sent."""

    def apply_entry(self, entry, producer=None):
        self.sent.append(entry.name)


@pytest.fixture
def scheduler(servers, clocks):
    made = NotingScheduler(app, schedule={}, lazy=True)
    made.sent = []
    entries = {name: {"task": name, "schedule": period_s} for name, period_s in _PERIODS_S.items()}
    made.update_from_dict(entries)
    return made


def sent_within(seconds, scheduler, clocks):
    """Return the number of times each entry is sent within `seconds`."""
    scheduler.sent.clear()
    for _ in range(int(seconds / _STEP_S)):
        while scheduler.tick() == 0:
            pass
        clocks.steady_s += _STEP_S
    return {name: scheduler.sent.count(name) for name in _PERIODS_S}


@pytest.mark.parametrize("hours", [1, -1])
def test_entries_are_sent_by_a_steady_clock_when_the_time_of_day_jumps(clocks, scheduler, hours):
    assert sent_within(5, scheduler, clocks) == {"sweep": 0, "rare": 0}
    for jump in (0, hours, -hours):
        clocks.set_by += timedelta(hours=jump)
        sent = sent_within(120, scheduler, clocks)
        assert 20 <= sent["sweep"] <= 24
        assert 1 <= sent["rare"] <= 2
