import os
import signal
import subprocess
import sys

import psutil
import pytest

from kebab.runtime import lifeline
from kebab.stack.supervisor.child import Child, ChildPlan
from kebab.stack.supervisor.process_id import ProcessIdentity
from tests.integration.kebab.stack.conftest import is_running
from tests.support.stack import eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the tie is the Linux kernel's")


def launch(parent_pid: int) -> list[str]:
    tie = ["--signal", "9", "--parent", str(parent_pid)]
    return [sys.executable, "-I", "-S", lifeline.__file__, *tie, "--", "sleep", "600"]


def test_child_ends_with_its_parent():
    program = (
        "import os, signal, subprocess, sys;"
        "tie = ['--signal', '9', '--parent', str(os.getpid()), '--', 'sleep', '600'];"
        "child = subprocess.Popen([sys.executable, '-I', '-S', sys.argv[1], *tie]);"
        "print(child.pid, flush=True); signal.pause()"
    )
    command = [sys.executable, "-c", program, lifeline.__file__]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        child_pid = int(parent.stdout.readline())
        eventually(lambda: psutil.Process(child_pid).name() == "sleep", "the child has become the command")
        parent.kill()
    eventually(lambda: not is_running(child_pid), "the child has ended")


def test_child_whose_parent_is_already_gone_does_not_start():
    ended = subprocess.run(launch(parent_pid=1 if os.getppid() != 1 else 2), capture_output=True, check=False)
    assert ended.returncode == 1


def test_unsupported_platform_reports_why_children_may_outlive_the_parent(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "darwin" in lifeline.die_with_parent(signal.SIGKILL, parent_pid=os.getppid())


def test_child_has_its_own_niceness_and_session_and_its_mark_ends_with_it(tmp_path):
    child = Child(ChildPlan(name="nap", command=("sleep", "600"), log=tmp_path / "nap.log", nice=5))
    pid = child.spawn()
    try:
        mark = ProcessIdentity.of(pid)
        assert mark.is_alive()
        eventually(lambda: os.getpriority(os.PRIO_PROCESS, pid) == os.nice(0) + 5, "the child is nicer")
        assert os.getsid(pid) == pid
    finally:
        child.kill()
    assert not mark.is_alive()
    assert not ProcessIdentity(pid=os.getpid(), born=ProcessIdentity.own().born + 1).is_alive()
