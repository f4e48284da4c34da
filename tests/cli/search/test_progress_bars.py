import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from kebab.cli.progress_bars import Meter, bar, counting_bar, pace

STATES = st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), max_size=30)


@given(STATES)
def test_progress_never_goes_back(states):
    meter, seen = Meter(), []
    for now_s, (done, total) in enumerate(states):
        meter.update(done, total, now_s=now_s)
        seen.append((meter.done, meter.total, meter.share))
        assert meter.done <= meter.total
        assert 0 <= meter.share <= 1
    assert [done for done, _, _ in seen] == sorted(done for done, _, _ in seen)
    assert [share for _, _, share in seen] == sorted(share for _, _, share in seen)


def test_progress_share_does_not_fall_when_the_total_grows():
    meter = Meter()
    meter.update(50, 100, now_s=0)
    meter.update(60, 1000, now_s=1)
    assert (meter.share, meter.total) == (0.5, 1000)


def test_rate_is_measured_over_the_last_seconds():
    meter = Meter()
    meter.update(0, 100, now_s=0)
    meter.update(0, 100, now_s=1)
    assert (meter.remaining_s, pace(meter)) == (None, "")
    for now_s, done in ((10, 10), (20, 1010), (25, 1510)):
        meter.update(done, 3510, now_s=now_s)
    assert meter.rate == pytest.approx(100)
    assert meter.remaining_s == pytest.approx(20)
    assert pace(meter) == "100/s, 0:20 left"


def test_without_a_terminal_only_the_end_is_written():
    stream = io.StringIO()
    with counting_bar(Console(file=stream), "Rebuilding", 3) as advance:
        for _ in range(3):
            advance()
    assert "3/3" in stream.getvalue()
    assert "1/3" not in stream.getvalue()


def test_path_in_a_bar_is_neither_markup_nor_a_terminal_command():
    loud, quiet = io.StringIO(), io.StringIO()
    for console in (Console(file=loud, width=200), Console(file=quiet, quiet=True)):
        with bar(console, "Ingesting") as shown:
            shown.show(1, 2, at="folder/" * 20 + "[red]a\x1b[2J.md")
    assert "[red]a" in loud.getvalue()
    assert "…" in loud.getvalue()
    assert "\x1b" not in loud.getvalue()
    assert quiet.getvalue() == ""
