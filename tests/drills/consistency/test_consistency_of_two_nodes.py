"""Short run of `python -m tests.drills.consistency`."""

import subprocess
import sys

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

_LIMIT_S = 600


def test_thousand_operations_on_two_nodes_keep_the_guarantees():
    command = [sys.executable, "-m", "tests.drills.consistency", "--operations", "1000", "--seed", "7"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("  ok  ") == 12
    assert ": 0 violations" in done.stdout
