"""The check of two nodes in short form; `python -m tests.consistency` makes it at length."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.stack

_ROOT = Path(__file__).resolve().parents[2]
_LIMIT_S = 600


def test_a_thousand_operations_on_two_nodes_keep_what_is_promised():
    command = [sys.executable, "-m", "tests.consistency", "--operations", "1000", "--seed", "7"]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("  ok  ") == 12
    assert ": 0 violations" in done.stdout
