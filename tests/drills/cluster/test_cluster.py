"""Short form of `python -m tests.drills.cluster`, and its arithmetic."""

import json
import os
import subprocess
import sys

import pytest

from tests.drills.cluster.judge import longest_gap_s
from tests.drills.cluster.machines import missing_requirement
from tests.drills.hosts.client import Exchange
from tests.support.paths import ROOT

_LIMIT_S = 900


def answered(ended_s, status=202, node="a"):
    return Exchange(
        kind="upload",
        node=node,
        began_s=ended_s - 1,
        ended_s=ended_s,
        status=status,
        retry_after=None,
        body={},
    )


@pytest.mark.parametrize(
    ("exchanges", "expected"),
    [
        ([answered(1), answered(2), answered(7)], 5),
        ([answered(1), answered(2, status=503), answered(7)], 6),
        ([answered(1), answered(9, status=503)], 8),
        ([answered(1), answered(7), *(answered(s, node="b") for s in range(8))], 6),
        ([], 0),
    ],
)
def test_gap_is_the_longest_time_without_success_at_a_node(exchanges, expected):
    assert longest_gap_s(exchanges) == expected


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.skipif(
    missing_requirement() is not None and os.environ.get("KEBAB_TESTS_NEED_CLUSTER") != "1",
    reason=str(missing_requirement()),
)
def test_killed_primary_loses_no_acknowledged_write(tmp_path):
    report = tmp_path / "report.json"
    scenes = ("--scenes", "primary killed", "--write-gap-s", "180", "--search-gap-s", "180")
    command = [sys.executable, "-m", "tests.drills.cluster", *scenes, "--json", str(report)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(report.read_text())["measured"]["primary killed"]["acknowledged writes"] > 0
