"""Scenes of `python -m tests.drills.hosts`, with each of their claims."""

import json
import os
import subprocess
import sys

import pytest

from tests.drills.hosts.network import missing_requirement
from tests.drills.hosts.scenes import SCENES
from tests.support.paths import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.alone]

_LIMIT_S = 900


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    # Nodes of an ordinary user did not start in time in a user namespace, though the servers did.
    missing = missing_requirement() if os.geteuid() == 0 else "run it as root, for network namespaces"
    if missing is not None:
        pytest.skip(missing)
    path = tmp_path_factory.mktemp("hosts") / "report.json"
    command = [sys.executable, "-m", "tests.drills.hosts", "--patience", "3", "--report", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    assert path.exists(), done.stdout + done.stderr
    return json.loads(path.read_text()) | {"printed": done.stdout}


@pytest.mark.parametrize("scene", SCENES)
def test_scene_reports_no_violated_claim(report, scene):
    claims = report["violations"][scene]
    assert claims, report["printed"]
    assert {claim: against for claim, against in claims.items() if against} == {}
