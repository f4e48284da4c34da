"""Beat sends what is due by a steady clock: the time of day may be set back and forth meanwhile."""

from datetime import UTC, datetime, timedelta

import pytest
from celery.beat import Scheduler

from kebab import schedule
from kebab.celery import app
from kebab.schedule import SteadyScheduler

_PERIODS_S = {"sweep": 5.0, "rare": 60.0}
_STEP_S = 0.5
_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


class Clocks:
    """Stands for a machine's: one runs on, the other can be set."""

    def __init__(self) -> None:
        self.steady_s = 1_000.0
        self.set_by = timedelta(0)

    def time_of_day(self) -> datetime:
        """Give what Celery goes by."""
        return _BEGAN + self.set_by + timedelta(seconds=self.steady_s)


class _Noting:
    """Notes what would be sent."""

    def apply_entry(self, entry, producer=None):
        self.sent.append(entry.name)


class NotingSteadily(_Noting, SteadyScheduler):
    """Kebab's."""


class NotingByTheTimeOfDay(_Noting, Scheduler):
    """Celery's."""


@pytest.fixture
def clocks(monkeypatch):
    clocks = Clocks()
    monkeypatch.setattr(app, "now", clocks.time_of_day)
    monkeypatch.setattr(schedule, "monotonic", lambda: clocks.steady_s)
    return clocks


def scheduler_of(kind):
    scheduler = kind(app, schedule={}, lazy=True)
    scheduler.sent = []
    scheduler.update_from_dict(
        {name: {"task": name, "schedule": period_s} for name, period_s in _PERIODS_S.items()}
    )
    return scheduler


def sent_within(seconds, scheduler, clocks):
    """How often each is sent from now on in so many seconds."""
    scheduler.sent.clear()
    for _ in range(int(seconds / _STEP_S)):
        while scheduler.tick() == 0:
            pass
        clocks.steady_s += _STEP_S
    return {name: scheduler.sent.count(name) for name in _PERIODS_S}


@pytest.mark.parametrize("hours", [1, -1])
def test_all_goes_on_when_the_clock_jumps(clocks, hours):
    scheduler = scheduler_of(NotingSteadily)
    for jump in (0, hours, -hours):
        clocks.set_by += timedelta(hours=jump)
        sent = sent_within(120, scheduler, clocks)
        assert 20 <= sent["sweep"] <= 24
        assert 1 <= sent["rare"] <= 2


def test_by_the_time_of_day_it_would_stand_still(clocks):
    scheduler = scheduler_of(NotingByTheTimeOfDay)
    assert sent_within(120, scheduler, clocks)["sweep"] > 20
    clocks.set_by -= timedelta(hours=1)
    assert sent_within(120, scheduler, clocks) == {"sweep": 0, "rare": 0}


def test_nothing_is_sent_before_its_time(clocks):
    assert sent_within(5, scheduler_of(NotingSteadily), clocks) == {"sweep": 0, "rare": 0}
