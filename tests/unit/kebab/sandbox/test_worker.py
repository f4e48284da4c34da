"""A warm sandboxed process: reused, replaced after each death, ended with its parent."""

import os
import signal
import subprocess
import sys
from contextlib import closing

import psutil
import pytest

from kebab.sandbox.program import ChildDied, Limits, Program, SandboxUnavailable
from kebab.sandbox.worker import SandboxWorker
from tests.support.paths import ROOT
from tests.support.processes import is_running, wait_until
from tests.unit.kebab.sandbox.programs import ask, program, request


@pytest.fixture
def worker():
    with closing(SandboxWorker(program())) as one:
        yield one


def test_process_is_reused_until_it_dies(worker):
    ask(worker, "describe")
    pid = worker.child_pid
    ask(worker, "describe")
    assert worker.child_pid == pid
    os.kill(pid, signal.SIGSEGV)
    wait_until(lambda: not is_running(pid))
    ask(worker, "describe")
    assert worker.child_pid not in (None, pid)


def test_malformed_answer_counts_as_a_death(worker):
    with pytest.raises(ChildDied, match="malformed"):
        worker.ask(request("describe"), lambda replies: next(replies)["missing"])
    assert worker.child_pid is None


def test_request_whose_process_is_killed_from_outside_is_repeated(worker, tmp_path):
    mark = tmp_path / "mark"
    assert ask(worker, "be_killed_once", mark=str(mark)) == {"pid": worker.child_pid}
    assert mark.exists()


def test_crash_is_reported_by_its_signal_and_the_next_request_works(worker):
    with pytest.raises(ChildDied, match="SIGSEGV"):
        ask(worker, "crash")
    assert worker.child_pid is None
    assert ask(worker, "measure")["size"] == 0


def test_process_that_does_not_start_is_not_the_fault_of_the_request(worker, monkeypatch):
    with pytest.raises(SandboxUnavailable, match="no process"):
        ask(worker, "miss_a_process")
    missing = SandboxWorker(Program(module="kebab.no_such_module", limits=Limits()))
    with pytest.raises(SandboxUnavailable, match="No module named"):
        ask(missing, "describe")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(SandboxUnavailable, match="/nowhere/python"):
        ask(missing, "describe")


def test_processes_that_the_child_has_started_end_with_it():
    with closing(SandboxWorker(program())) as one:
        pid = ask(one, "start_process")["pid"]
        assert is_running(pid)
    wait_until(lambda: not is_running(pid))


def test_aborted_worker_refuses_requests(worker):
    ask(worker, "describe")
    pid = worker.child_pid
    worker.abort()
    wait_until(lambda: not is_running(pid))
    with pytest.raises(SandboxUnavailable, match="aborted"):
        ask(worker, "describe")


def test_worker_is_aborted_while_its_thread_lets_go_of_its_process():
    class Child:
        is_stopped = False

        def stop(self):
            self.is_stopped = True

    class LettingGo(SandboxWorker):
        """Lends its process to the first caller only."""

        @property
        def _process(self):
            process, self._kept = self._kept, None
            return process

        @_process.setter
        def _process(self, process):
            self._kept = process

    worker, child = LettingGo(program()), Child()
    worker._process = child
    worker.abort()
    assert child.is_stopped


def test_child_ends_at_the_end_of_its_input(worker):
    ask(worker, "describe")
    child = psutil.Process(worker.child_pid)
    worker._process._process.stdin.close()
    assert child.wait(10) is not None


ORPHAN_MAKER = """
from kebab.sandbox.worker import SandboxWorker
from tests.unit.kebab.sandbox.programs import ask, program, request
worker = SandboxWorker(program())
ask(worker, "describe")
print(worker.child_pid, flush=True)
ask(worker, "hang")
"""


def test_killed_parent_leaves_no_orphan():
    parent = subprocess.Popen(
        [sys.executable, "-c", ORPHAN_MAKER], stdout=subprocess.PIPE, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}
    )
    child = int(parent.stdout.readline())
    assert is_running(child)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    wait_until(lambda: not is_running(child))
