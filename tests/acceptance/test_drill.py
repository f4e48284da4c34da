"""The crash drill in short form; `make drill` runs it at length."""

import json
import subprocess
import sys

import pytest

from tests.drills.crash.siege import clocks
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

_LIMIT_S = 900
_CHECKED_BY = {
    "hint": "the sweep finds the job",
    "stall": "it writes nothing any more",
    "lagging": "searches show what Postgres has",
    "rebuild": "every search finds what it did before",
}


def drill(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tests.drills.crash", "--seed", "7", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=_LIMIT_S, check=False)


def test_nothing_is_lost_or_doubled_when_processes_are_killed():
    done = drill("--documents", "150", "--kills", "3", "--scenes", "storm", "hint", "stall", "outage")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASSED" in done.stdout


@pytest.mark.parametrize(
    ("scene", "checked"),
    [
        ("faults", ("cancel", "kill", "flush", "restart", "listing")),
        ("disks", ("full disk of blobs", "full disk of mirrors")),
    ],
)
def test_a_fault_in_the_middle_of_a_sync_leaves_all_as_it_should_be(scene, checked):
    done = drill("--scenes", scene)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [f"ok        all is right after: {fault}" in done.stdout for fault in checked] == [True] * len(
        checked
    )


def test_thousands_of_documents_hold_up_no_other_workspace():
    done = drill("--scenes", "turns")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok        it takes its turn" in done.stdout


def test_another_embedder_costs_no_search_though_its_worker_is_killed_half_way():
    done = drill("--scenes", "reembed", "--chunks", "600")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "searches failed or mixed spaces" in done.stdout


@pytest.mark.alone
@pytest.mark.parametrize("kills", [6])
def test_clients_get_what_they_were_promised_while_processes_are_killed(kills, tmp_path):
    figures = tmp_path / "figures.json"
    done = drill("--scenes", "siege", "--siege-kills", str(kills), "--json", str(figures))
    assert done.returncode == 0, done.stdout + done.stderr
    (siege,) = json.loads(figures.read_text())["scenes"]
    assert siege["faults"] == siege["survived"] == kills
    assert {"upload", "search", "read"} <= siege["answers"].keys()


@pytest.mark.alone
def test_clients_get_what_they_were_promised_while_servers_restart_and_lose_all():
    done = drill("--scenes", "servers")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.alone
def test_clients_get_what_they_were_promised_while_connections_are_cut():
    done = drill("--scenes", "cuts")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.alone
@pytest.mark.skipif(clocks.library() is None, reason="libfaketime is missing: apt-get install faketime")
def test_clients_get_what_they_were_promised_while_the_clock_jumps():
    done = drill("--scenes", "clocks")
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_deleted_is_not_shown_by_a_mirror_that_stands_still_nor_missed_in_one_that_is_rebuilt():
    done = drill("--scenes", "lagging", "rebuild")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("safeguard", "scene"),
    [("sweep", "hint"), ("fence", "stall"), ("readback", "lagging"), ("generations", "rebuild")],
)
def test_drill_fails_when_a_safeguard_is_switched_off(safeguard, scene):
    done = drill("--scenes", scene, "--without", safeguard)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"VIOLATED  {_CHECKED_BY[scene]}" in done.stdout
