"""`make check` looks for known vulnerabilities, and continues where it can't."""

import json
import os
import subprocess
import sys

import pytest

from tests.support.paths import ROOT

AUDIT = ROOT / "deploy" / "audit.py"
CLEAN = {"name": "kombu", "version": "5.7.0", "vulns": []}
UNKNOWN = {"name": "inhouse", "skip_reason": "Dependency not found on PyPI"}
HURT = {
    "name": "django",
    "version": "1.0",
    "vulns": [{"id": "CVE-1", "fix_versions": ["1.1"]}, {"id": "CVE-2"}],
}


@pytest.fixture
def audit(tmp_path):
    """Run the script with something in place of pip-audit."""

    def run(answer, code=0, complaint=""):
        lines = f"import sys\nsys.stdout.write({answer!r})\nsys.stderr.write({complaint!r})\nsys.exit({code})"
        (tmp_path / "pip_audit.py").write_text(lines)
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        command = [sys.executable, AUDIT, "requirements.txt"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()

    return run


def audit_report(*packages):
    return json.dumps({"dependencies": packages})


def test_known_vulnerabilities_fail(audit):
    code, output = audit(audit_report(CLEAN, HURT, UNKNOWN), code=1)

    assert code == 1
    assert output == [
        "django 1.0: CVE-1, mended in 1.1",
        "django 1.0: CVE-2, mended in no version yet",
        "2 vulnerabilities in 2 packages, 1 unknown to the index",
    ]


def test_report_without_vulnerabilities_passes(audit):
    assert audit(audit_report(CLEAN)) == (0, ["0 vulnerabilities in 1 packages"])


def test_an_index_that_cannot_be_reached_or_knows_nothing_is_skipped(audit):
    error = "requests.exceptions.ConnectionError: no route to host"

    assert audit("", code=1, complaint=f"Traceback …\n{error}\n") == (0, [f"skipped: {error}"])
    assert audit(audit_report(UNKNOWN)) == (0, ["skipped: the index knows none of the 1 packages"])


def test_an_audit_that_cannot_run_fails(audit):
    error = "python: No module named pip_audit"

    assert audit("", code=1, complaint=f"{error}\n") == (1, [f"failed: {error}"])
    assert audit("", code=0) == (1, ["failed: no answer"])
