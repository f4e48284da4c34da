from kebab.stack.supervisor import supervisor
from kebab.stack.supervisor.child import limit_log, log_tail, open_log
from kebab.stack.supervisor.supervisor import StopRequest, SupervisedProcess


class Ended:
    """A member that ends as soon as it has started."""

    name = "ended"
    pid = None
    spawned = 0

    def spawn(self) -> None:
        self.spawned += 1

    def is_alive(self) -> bool:
        return False


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


def test_pause_before_a_restart_doubles_to_ten_seconds_until_health_resets_it(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(supervisor, "time", clock)
    process = SupervisedProcess(Ended())
    pauses = []
    for _ in range(8):
        process.spawn()
        pauses.append(process.record_exit())
    assert pauses == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]
    process.spawn()
    clock.now += 31
    assert process.record_exit() == 0.2
    assert process.record_exit() is None  # an end is noted once
    assert not process.is_due()
    clock.now += 0.3
    assert process.is_due()
    process.spawn()
    assert not process.is_due()


def test_second_stop_request_is_urgent():
    stop = StopRequest()
    assert (stop.is_requested, stop.is_urgent) == (False, False)
    stop.request()
    assert (stop.is_requested, stop.is_urgent) == (True, False)
    stop.request()
    assert (stop.is_requested, stop.is_urgent) == (True, True)


def test_long_log_is_rotated_under_its_writer_and_a_short_one_stays(tmp_path):
    path = tmp_path / "some.log"
    with open_log(path) as writer:
        writer.write(b"old\n")
        writer.flush()
        limit_log(path, limit_bytes=4)
        assert log_tail(path) == "old"
        limit_log(path, limit_bytes=3)
        writer.write(b"new\n")
    assert path.read_text() == "new\n"
    assert (tmp_path / "some.log.1").read_text() == "old\n"
    assert log_tail(tmp_path / "missing.log") == ""
