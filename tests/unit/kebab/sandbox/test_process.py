"""One sandboxed process: its limits, and replies that it can't delay or forge."""

import os
from contextlib import closing
from dataclasses import replace
from functools import partial

import pytest

from kebab.sandbox.process import Deadline, SandboxProcess, run_once
from kebab.sandbox.program import ChildDied, SandboxUnavailable
from kebab.sandbox.worker import SandboxWorker
from tests.support.processes import is_running
from tests.unit.kebab.sandbox.programs import PATIENCE_S, ask, program, request

MEGABYTE = 1024**2


@pytest.fixture(scope="module")
def worker():
    with closing(SandboxWorker(program())) as one:
        yield one


def reply_once(limited, asked, **options):
    with closing(run_once(limited, asked, **options)) as replies:
        return next(replies)


def test_child_is_confined(monkeypatch):
    monkeypatch.setenv("KEBAB_SECRET_KEY", "secret")
    limited = program(
        address_space_bytes=900 * MEGABYTE,
        extra_data_bytes=50 * MEGABYTE,
        cpu_seconds=7,
        request_cpu_seconds=3,
    )
    found = reply_once(limited, request("describe"))
    assert "KEBAB_SECRET_KEY" not in found["environment"]
    assert found["cwd"] == "/"
    assert found["sid"] != os.getsid(0)
    limits = found["limits"]
    assert (limits["CORE"], limits["FSIZE"], limits["NOFILE"]) == ([0, 0], [0, 0], [64, 64])
    assert limits["AS"] == [900 * MEGABYTE] * 2
    assert limits["DATA"][0] == limits["DATA"][1] < 300 * MEGABYTE
    assert limits["CPU"] == [4, 7]


def test_sandbox_applies_the_lower_memory_limit():
    limited = program(address_space_bytes=10_000 * MEGABYTE, extra_address_space_bytes=100 * MEGABYTE)
    assert reply_once(limited, request("describe"))["limits"]["AS"][1] < 1_000 * MEGABYTE
    limited = program(address_space_bytes=400 * MEGABYTE, extra_address_space_bytes=10_000 * MEGABYTE)
    assert reply_once(limited, request("describe"))["limits"]["AS"][1] == 400 * MEGABYTE


def test_file_cannot_be_written_and_inherited_one_is_read(tmp_path, worker):
    with pytest.raises(ChildDied, match="OSError"):
        ask(worker, "write_file", path=str(tmp_path / "a"))
    assert (tmp_path / "a").stat().st_size == 0
    (tmp_path / "b").write_text("words")
    with (tmp_path / "b").open() as file:
        asked = request("read_file", fd=file.fileno())
        assert reply_once(program(), asked, pass_fds=[file.fileno()]) == {"text": "words"}


def test_content_and_reply_larger_than_a_pipe_pass_without_deadlock(worker):
    size = 3 * MEGABYTE
    assert ask(worker, "measure", content=b"x" * size) == {"size": size, "text": "x" * size}


def test_output_of_libraries_is_standard_error_and_no_reply(worker):
    written = []
    asked = replace(request("print_words"), log_stderr=written.append)
    assert worker.ask(asked, next) == {}
    assert written == ["some words"]


def test_failure_is_logged_without_its_message(worker):
    written = []
    asked = replace(request("fail"), log_stderr=written.append)
    with pytest.raises(ChildDied) as death:
        worker.ask(asked, next)
    assert (death.value.reason, death.value.detail) == ("it failed with ValueError", "zanzibar")
    assert "zanzibar" not in str(death.value)
    assert written[0].startswith("request failed: ValueError at child.py:")
    assert "zanzibar" not in written[0]


def test_request_that_needs_too_much_memory_ends_the_process():
    with pytest.raises(ChildDied, match="memory"):
        reply_once(program(extra_data_bytes=50 * MEGABYTE), request("eat_memory"))


def test_request_that_takes_too_much_processor_time_is_ended_by_the_kernel():
    with pytest.raises(ChildDied, match="SIGXCPU"):
        reply_once(program(request_cpu_seconds=0), request("spin"))


@pytest.mark.parametrize("do", ["hang", "hang_without_pipe"])
def test_request_that_takes_too_long_is_ended(worker, do):
    with pytest.raises(ChildDied, match=r"over 0\.05 s"):
        ask(worker, do, 0.05)


def test_time_limit_of_a_single_request_includes_the_start():
    with pytest.raises(SandboxUnavailable, match="did not start: it took over 0 s"):
        reply_once(program(), request("describe", 0))


def test_steps_extend_the_deadline_up_to_a_limit(worker):
    patient = partial(Deadline, 0.1, seconds_per_step=30.0, most_seconds=60.0)
    asked = replace(request("advance", steps=10), start_deadline=patient)
    assert worker.ask(asked, next) == {"steps": 10}
    deadline = Deadline(0.0, seconds_per_step=0.2, most_seconds=30.0)
    deadline.extend()
    assert 0 < deadline.seconds_left <= 0.2
    deadline = Deadline(5.0, seconds_per_step=1_000.0, most_seconds=7.0)
    deadline.extend()
    assert deadline.seconds == 7.0


class Cancelled(Exception):
    """The caller does not want to wait any longer."""


def cancel():
    raise Cancelled


@pytest.mark.parametrize("do", ["hang", "spin", "hang_without_pipe", "advance_for_ever"])
def test_caller_can_end_an_exchange_with_any_child(do):
    asked = replace(request(do), on_wait=cancel)
    with pytest.raises(Cancelled):
        reply_once(program(), asked)


def test_exchange_that_was_ended_leaves_no_child():
    with closing(SandboxProcess(program())) as child, pytest.raises(Cancelled):
        next(child.exchange(replace(request("hang"), on_wait=cancel), Deadline(PATIENCE_S)))
    assert not is_running(child.pid)


def test_bytes_outside_of_a_frame_end_the_process(worker):
    with pytest.raises(ChildDied, match="not an answer"):
        ask(worker, "babble")
