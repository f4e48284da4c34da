import contextlib
import json
import os
import signal
import socket
import subprocess
import sys

import psutil
import pytest

from kebab.stack.locks import HolderKind, StackLock
from kebab.stack.paths import DataDirectory, runtime_directory
from kebab.stack.reachability import serves
from kebab.stack.state import stack_is_running
from tests.integration.kebab.stack.conftest import eventually, family, is_running

pytestmark = pytest.mark.slow

_NAMES = ["postgres", "redis", "web", "worker", "embedder", "mirror", "beat", "watch"]


def commands(pid: int) -> set[str]:
    """The verbs that the children of a process run."""
    found: set[str] = set()
    for child in psutil.Process(pid).children():
        with contextlib.suppress(psutil.NoSuchProcess):  # it ends while it is looked at
            found |= set(child.cmdline()[-1:])
    return found


def status(verbs) -> dict:
    return json.loads(verbs.run("status", "--json").stdout)


def test_stack_serves_reports_itself_and_stops_without_a_trace(verbs):
    up = verbs.up()
    assert [each.name for each in verbs.state().processes] == _NAMES
    eventually(
        lambda: {row["name"] for row in status(verbs)["processes"]} == {*_NAMES, "supervisor"},
        "every process has written its sign of life",
    )
    listing = status(verbs)
    assert listing["queues"].keys() == {"ingest", "mirror", "maintenance", "embed"}
    assert all(row["is_alive"] and row["node"] == listing["node"] for row in listing["processes"])
    pids = family(up.pid)
    up.send_signal(signal.SIGTERM)
    assert up.wait(60) == 0
    assert [pid for pid in pids if is_running(pid)] == []
    assert not stack_is_running(verbs.data_dir)
    assert not DataDirectory(verbs.data_dir).stack_state.exists()
    assert not runtime_directory(verbs.data_dir).exists()
    assert verbs.run("status", "--json").returncode == 3


def test_killed_supervisor_leaves_no_process_and_no_obstacle(verbs):
    up = verbs.up()
    pids = family(up.pid)
    up.kill()
    up.wait()
    eventually(lambda: not any(map(is_running, pids)), "all processes have ended")
    assert not stack_is_running(verbs.data_dir)
    verbs.up()


def test_stack_that_loses_postgres_while_it_prepares_itself_serves_all_the_same(verbs):
    up = verbs.start("up")
    eventually(lambda: "--on-running-servers" in commands(up.pid), "it prepares itself")
    (postgres,) = [each for each in psutil.Process(up.pid).children() if each.name() == "postgres"]
    postgres.kill()
    eventually(lambda: verbs.is_ready() or up.poll() is not None, "it serves")
    assert up.poll() is None, up.communicate()


def test_every_process_that_is_killed_comes_back(verbs):
    verbs.up()
    before = verbs.pids()
    for name in _NAMES:
        os.kill(before[name], signal.SIGKILL)
    for name in _NAMES:
        eventually(lambda name=name: verbs.pids().get(name, before[name]) != before[name], f"{name} is back")
    eventually(lambda: serves(verbs.state().url), "the web process answers again")


def test_supervisor_that_finds_no_room_goes_on_and_tells_its_state_later(verbs):
    up = verbs.up()
    supervisor, before = psutil.Process(up.pid), verbs.pids()["mirror"]
    room = supervisor.rlimit(psutil.RLIMIT_FSIZE)
    supervisor.rlimit(psutil.RLIMIT_FSIZE, (0, room[1]))  # refuses every write to a file, as a full disk does
    os.kill(before, signal.SIGKILL)
    eventually(lambda: "mirror" in commands(up.pid) and not is_running(before), "the process is back")
    assert verbs.state().processes and verbs.pids().get("mirror", before) == before
    supervisor.rlimit(psutil.RLIMIT_FSIZE, room)
    eventually(lambda: verbs.pids().get("mirror", before) != before, "its state is told")
    assert up.poll() is None


def test_children_of_a_killed_web_or_worker_process_end_too(verbs):
    verbs.up()
    web, worker = verbs.pids()["web"], verbs.pids()["worker"]
    eventually(lambda: len(family(worker)) > 1, "the worker has children")
    children = [*family(web)[1:], *family(worker)[1:]]
    os.kill(web, signal.SIGKILL)
    os.kill(worker, signal.SIGKILL)
    eventually(lambda: not any(map(is_running, children)), "the children have ended")


def test_second_stack_is_refused_with_the_pid_of_the_first(verbs):
    up = verbs.up()
    second = verbs.run("up")
    assert second.returncode == 2
    assert f"already runs on {verbs.data_dir} (pid {up.pid})" in second.stderr


def test_port_in_use_is_reported_before_anything_starts(verbs, free_port):
    with socket.create_server(("127.0.0.1", free_port)):
        refused = verbs.run("up")
    assert refused.returncode == 2
    assert f"127.0.0.1:{free_port} is already in use" in refused.stderr
    assert "KEBAB_PORT" in refused.stderr
    assert not (verbs.data_dir / "logs" / "postgres.log").exists()


def test_external_server_that_does_not_answer_is_named(verbs):
    verbs.environment["REDIS_URL"] = "redis://127.0.0.1:1/0"
    refused = verbs.run("up")
    assert refused.returncode == 2
    assert "check REDIS_URL" in refused.stderr


def test_second_signal_does_not_wait_for_a_process_that_hangs(verbs):
    up = verbs.up()
    hanging, obedient = verbs.pids()["web"], verbs.pids()["beat"]
    os.kill(hanging, signal.SIGSTOP)
    up.send_signal(signal.SIGINT)
    eventually(lambda: not is_running(obedient), "the first signal was obeyed")
    up.send_signal(signal.SIGINT)
    assert up.wait(20) == 0
    assert not is_running(hanging)


def test_init_prepares_and_a_verb_without_a_stack_runs_its_own_servers(verbs):
    prepared = verbs.run("init")
    assert prepared.returncode == 0, prepared.stderr
    assert "No stack runs" in prepared.stderr
    assert not stack_is_running(verbs.data_dir)
    assert (verbs.data_dir / "secrets.json").exists()


def test_init_tells_programs_what_it_prepared(verbs):
    prepared = verbs.run("init", "--json")
    assert (prepared.returncode, prepared.stderr) == (0, "")
    assert json.loads(prepared.stdout) == {"schema_version": "init.v1", "data_dir": str(verbs.data_dir)}


def test_verb_uses_the_stack_that_runs(verbs):
    verbs.up()
    prepared = verbs.run("init")
    assert prepared.returncode == 0, prepared.stderr
    assert "No stack runs" not in prepared.stderr


def test_two_verbs_at_once_take_turns(verbs):
    first, second = verbs.start("init"), verbs.start("init")
    said = [process.communicate(timeout=90)[1] for process in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0], said
    assert sum("No stack runs" in text for text in said) == 2
    assert any("Waiting for process" in text for text in said)


def test_lock_of_a_killed_holder_is_free(data_dir):
    DataDirectory(data_dir).ensure()
    path = DataDirectory(data_dir).stack_lock
    program = (
        "import sys, pathlib; from kebab.stack.locks import *; lock = StackLock(pathlib.Path(sys.argv[1]));"
        "print(lock.acquire(HolderKind.UP), flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "True\n"
        lock = StackLock(path)
        assert not lock.acquire(HolderKind.UP)
        assert lock.holder().pid == holder.pid
        holder.kill()
        holder.wait()
    assert lock.acquire(HolderKind.UP)
    lock.release()
