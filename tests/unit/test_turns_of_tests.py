"""Tests that measure seconds have the machine to themselves."""

import fcntl
import threading

from tests.support import turns
from tests.support.stack import eventually


def test_who_is_alone_waits_for_the_others_and_they_for_it(monkeypatch, tmp_path):
    monkeypatch.setattr(turns.tempfile, "gettempdir", lambda: str(tmp_path))
    said, leave = [], threading.Event()

    def enter(name, *, is_alone):
        with turns.turn(is_alone=is_alone):
            said.append(name)

    with turns.turn(is_alone=False), turns.turn(is_alone=False):
        alone = threading.Thread(target=enter, args=("alone",), kwargs={"is_alone": True})
        alone.start()
        eventually(lambda: not gate_is_open(tmp_path), "one waits to be alone")
        late = threading.Thread(target=enter, args=("late",), kwargs={"is_alone": False})
        late.start()
        leave.wait(0.1)
        assert said == []
    for thread in (alone, late):
        thread.join(10)
    assert said == ["alone", "late"]


def test_a_suite_that_a_test_runs_waits_for_nobody(monkeypatch, tmp_path):
    monkeypatch.setattr(turns.tempfile, "gettempdir", lambda: str(tmp_path))
    with turns.turn(is_alone=True):
        monkeypatch.setenv("TESTS_HAVE_THE_TURN_OF", "1")
        with turns.turn(is_alone=False):
            pass


def gate_is_open(folder):
    (path,) = folder.glob("*.gate")
    with path.open() as gate:
        try:
            fcntl.flock(gate, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True
