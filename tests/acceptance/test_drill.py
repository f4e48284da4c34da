"""Short runs of the crash drill; `make drill` runs it at length."""

import json
import subprocess
import sys

import pytest

from tests.drills.crash.siege import clocks
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

_LIMIT_S = 900
_CHECKS = {
    "hint": "the sweep finds the job",
    "stall": "it writes nothing any more",
    "lagging": "searches show what Postgres has",
    "rebuild": "every search finds what it did before",
}


def drill(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tests.drills.crash", "--seed", "7", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=_LIMIT_S, check=False)


def test_killed_processes_cause_no_loss_or_duplication():
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
def test_fault_during_a_sync_causes_no_violation(scene, checked):
    done = drill("--scenes", scene)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [f"ok        all is right after: {fault}" in done.stdout for fault in checked] == [True] * len(
        checked
    )


def test_thousands_of_documents_delay_no_other_workspace():
    done = drill("--scenes", "turns")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok        it takes its turn" in done.stdout


def test_change_of_embedder_with_a_killed_worker_fails_no_search():
    done = drill("--scenes", "reembed", "--chunks", "600")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "searches failed or mixed spaces" in done.stdout


@pytest.mark.alone
@pytest.mark.parametrize("kills", [6])
def test_acknowledgements_hold_while_processes_are_killed(kills, tmp_path):
    figures = tmp_path / "figures.json"
    done = drill("--scenes", "siege", "--siege-kills", str(kills), "--json", str(figures))
    assert done.returncode == 0, done.stdout + done.stderr
    (siege,) = json.loads(figures.read_text())["scenes"]
    assert siege["faults"] == siege["survived"] == kills
    assert {"upload", "search", "read"} <= siege["answers"].keys()


@pytest.mark.alone
def test_acknowledgements_hold_while_servers_restart_and_are_emptied():
    done = drill("--scenes", "servers")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.alone
def test_acknowledgements_hold_while_connections_are_cut():
    done = drill("--scenes", "cuts")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.alone
@pytest.mark.skipif(clocks.library() is None, reason="libfaketime is missing: apt-get install faketime")
def test_acknowledgements_hold_while_the_clock_jumps():
    done = drill("--scenes", "clocks")
    assert done.returncode == 0, done.stdout + done.stderr


def test_lagging_and_rebuilt_mirrors_show_the_state_in_postgres():
    done = drill("--scenes", "lagging", "rebuild")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("safeguard", "scene"),
    [("sweep", "hint"), ("fence", "stall"), ("readback", "lagging"), ("generations", "rebuild")],
)
def test_drill_fails_when_a_safeguard_is_disabled(safeguard, scene):
    done = drill("--scenes", scene, "--without", safeguard)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"VIOLATED  {_CHECKS[scene]}" in done.stdout
