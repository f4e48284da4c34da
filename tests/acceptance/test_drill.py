"""The crash drill in short form; `make drill` runs it at length."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.stack

_ROOT = Path(__file__).resolve().parents[2]
_LIMIT_S = 400


def drill(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tests.drill", "--seed", "7", *arguments]
    return subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=_LIMIT_S, check=False)


def test_nothing_is_lost_or_doubled_when_processes_are_killed():
    done = drill("--documents", "150", "--kills", "3", "--scenes", "storm")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASSED" in done.stdout


@pytest.mark.parametrize(("safeguard", "scene"), [("sweep", "hint"), ("fence", "stall")])
def test_drill_fails_without_its_safeguard_and_only_then(safeguard, scene):
    with_it = drill("--scenes", scene)
    assert with_it.returncode == 0, with_it.stdout + with_it.stderr
    without_it = drill("--scenes", scene, "--without", safeguard)
    assert without_it.returncode == 1, without_it.stdout + without_it.stderr
    assert "VIOLATED" in without_it.stdout
