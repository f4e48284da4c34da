"""A whole stack under `kebab up`, and commands beside it."""

import contextlib
import json
import os
import signal
import socket

import psutil
import pytest

from kebab.stack.paths import DataDirectory, runtime_directory
from kebab.stack.servers.reachability import is_serving
from kebab.stack.supervisor.state import stack_is_running
from tests.integration.kebab.stack.conftest import family, is_running
from tests.support.stack import eventually

pytestmark = pytest.mark.slow

_NAMES = ["postgres", "redis", "web", "worker", "embedder", "mirror", "beat", "watch"]


def commands(pid: int) -> set[str]:
    """Return the commands that the processes below one run."""
    found: set[str] = set()
    for child in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # it ends while it is looked at
            found |= set(" ".join(child.cmdline()).split()[-1:])
    return found


def status(verbs) -> dict:
    return json.loads(verbs.run("status", "--json").stdout)


def documents(verbs) -> set[str]:
    done = verbs.run("list", "documents", "--json")
    return {row["path"] for row in json.loads(done.stdout)["results"]} if done.returncode == 0 else set()


def test_stack_starts_restarts_its_processes_and_stops_cleanly(verbs, tmp_path):
    up = verbs.up()
    assert [each.name for each in verbs.state().processes] == _NAMES
    eventually(
        lambda: {row["name"] for row in status(verbs)["processes"]} == {*_NAMES, "supervisor"},
        "every process has written its sign of life",
    )
    listing = status(verbs)
    assert listing["queues"].keys() == {"ingest", "mirror", "maintenance", "embed"}
    assert all(row["is_alive"] and row["node"] == listing["node"] for row in listing["processes"])

    second = verbs.run("up")
    assert (second.returncode, str(up.pid) in second.stderr) == (2, True)
    prepared = verbs.run("init")  # which uses the stack that runs
    assert prepared.returncode == 0, prepared.stderr
    assert "No stack runs" not in prepared.stderr

    (tmp_path / "first.md").write_text("# First\n")
    watched = (str(tmp_path), "--workspace", "w", "--create", "--watch", "--no-embed", "--json")
    done = verbs.run("ingest", *watched)
    assert done.returncode == 0, done.stderr
    (tmp_path / "second.md").write_text("# Second\n")
    eventually(lambda: documents(verbs) == {"first.md", "second.md"}, "the new file is found")
    assert_all_come_back(verbs)
    (tmp_path / "first.md").unlink()
    eventually(lambda: documents(verbs) == {"second.md"}, "the file that went is forgotten")
    assert_state_waits_for_room(verbs, up)
    pids = family(up.pid)
    up.send_signal(signal.SIGTERM)
    assert up.wait(60) == 0
    assert [pid for pid in pids if is_running(pid)] == []
    assert not stack_is_running(verbs.data_dir)
    assert not DataDirectory(verbs.data_dir).stack_state.exists()
    assert not runtime_directory(verbs.data_dir).exists()
    assert verbs.run("status", "--json").returncode == 3


def assert_all_come_back(verbs) -> None:
    """Kill every process: each is restarted, and its children end."""
    before = verbs.pids()
    eventually(lambda: len(family(before["worker"])) > 1, "the worker has children")
    children = [*family(before["web"])[1:], *family(before["worker"])[1:]]
    for pid in {before[name] for name in _NAMES}:
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: not any(map(is_running, children)), "the children have ended")
    for name in _NAMES:
        eventually(lambda name=name: verbs.pids().get(name, before[name]) != before[name], f"{name} is back")
    eventually(lambda: is_serving(verbs.state().url), "the web process answers again")


def assert_state_waits_for_room(verbs, up) -> None:
    """Let the supervisor write no file: it restarts a process, and writes its state later."""
    supervisor, before = psutil.Process(up.pid), verbs.pids()["mirror"]
    room = supervisor.rlimit(psutil.RLIMIT_FSIZE)
    supervisor.rlimit(psutil.RLIMIT_FSIZE, (0, room[1]))  # refuses every write to a file, as a full disk does
    os.kill(before, signal.SIGKILL)
    eventually(lambda: "upkeep" in commands(up.pid) and not is_running(before), "the process is back")
    assert verbs.state().processes and verbs.pids().get("mirror", before) == before
    supervisor.rlimit(psutil.RLIMIT_FSIZE, room)
    eventually(lambda: verbs.pids().get("mirror", before) != before, "its state is written")
    assert up.poll() is None


def test_stack_restarts_after_a_killed_supervisor_and_a_second_signal_kills(verbs):
    up = verbs.up()
    pids = family(up.pid)
    up.kill()
    up.wait()
    eventually(lambda: not any(map(is_running, pids)), "all processes have ended")
    assert not stack_is_running(verbs.data_dir)

    up = verbs.up()
    hanging, obedient = verbs.pids()["web"], verbs.pids()["beat"]
    os.kill(hanging, signal.SIGSTOP)
    up.send_signal(signal.SIGINT)
    eventually(lambda: not is_running(obedient), "the first signal was obeyed")
    up.send_signal(signal.SIGINT)
    assert up.wait(20) == 0
    assert not is_running(hanging)


def test_stack_that_loses_postgres_while_it_prepares_itself_serves(verbs):
    up = verbs.start("up")
    eventually(lambda: "--on-running-servers" in commands(up.pid), "it prepares itself")
    (postgres,) = [each for each in psutil.Process(up.pid).children() if each.name() == "postgres"]
    postgres.kill()
    eventually(lambda: verbs.is_ready() or up.poll() is not None, "it serves", 300)
    assert up.poll() is None, up.communicate()


def test_port_in_use_and_silent_server_are_reported_before_anything_starts(verbs):
    with socket.create_server(("127.0.0.1", verbs.port)):
        refused = verbs.run("up")
    assert refused.returncode == 2
    assert f"127.0.0.1:{verbs.port}" in refused.stderr and "KEBAB_PORT" in refused.stderr
    assert not (verbs.data_dir / "logs" / "postgres.log").exists()

    verbs.environment["REDIS_URL"] = "redis://127.0.0.1:1/0"
    refused = verbs.run("up")
    assert (refused.returncode, "REDIS_URL" in refused.stderr) == (2, True)


def test_two_commands_without_a_stack_run_one_after_the_other(verbs):
    first, second = verbs.start("init"), verbs.start("init")
    errors = [process.communicate(timeout=90)[1] for process in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0], errors
    assert sum("No stack runs" in text for text in errors) == 2
    assert any("Waiting for process" in text for text in errors)
    assert not stack_is_running(verbs.data_dir)
    prepared = verbs.run("init", "--json")
    assert (prepared.returncode, prepared.stderr) == (0, "")
    assert json.loads(prepared.stdout) == {"schema_version": "init.v1", "data_dir": str(verbs.data_dir)}
