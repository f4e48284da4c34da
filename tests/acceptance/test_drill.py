"""The crash drill in short form; `make drill` runs it at length."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.stack

_ROOT = Path(__file__).resolve().parents[2]
_LIMIT_S = 400
_CHECKED_BY = {"hint": "the sweep finds the job", "stall": "it writes nothing any more"}


def drill(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tests.drill", "--seed", "7", *arguments]
    return subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=_LIMIT_S, check=False)


def test_nothing_is_lost_or_doubled_when_processes_are_killed():
    done = drill("--documents", "150", "--kills", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASSED" in done.stdout


@pytest.mark.parametrize(("safeguard", "scene"), [("sweep", "hint"), ("fence", "stall")])
def test_drill_fails_when_a_safeguard_is_switched_off(safeguard, scene):
    done = drill("--scenes", scene, "--without", safeguard)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"VIOLATED  {_CHECKED_BY[scene]}" in done.stdout
