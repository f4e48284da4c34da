"""`make check` asks for known vulnerabilities, and does without where it can't."""

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


def answered(*packages):
    return json.dumps({"dependencies": packages})


def test_known_vulnerabilities_fail(audit):
    code, said = audit(answered(CLEAN, HURT, UNKNOWN), code=1)

    assert code == 1
    assert said == [
        "django 1.0: CVE-1, mended in 1.1",
        "django 1.0: CVE-2, mended in no version yet",
        "2 vulnerabilities in 2 packages, 1 unknown to the index",
    ]


def test_nothing_known_passes(audit):
    assert audit(answered(CLEAN)) == (0, ["0 vulnerabilities in 1 packages"])


def test_an_index_that_knows_nothing_is_no_proof(audit):
    assert audit(answered(UNKNOWN)) == (0, ["skipped: the index knows none of the 1 packages"])


@pytest.mark.parametrize(
    "said",
    [
        "requests.exceptions.ConnectionError: no route to host",
        "requests.exceptions.ReadTimeout: read timed out",
        "pip_audit._service.interface.ServiceError",
        "ERROR:pip_audit._cli:Tip: your network may be blocking this service. Try another service",
    ],
)
def test_without_an_index_it_is_skipped_in_one_line(audit, said):
    assert audit("", code=1, complaint=f"Traceback …\n{said}\n") == (0, [f"skipped: {said}"])


@pytest.mark.parametrize(
    "said",
    [
        "pip-audit: error: unrecognized arguments: --no-deps",
        "ERROR:pip_audit._cli:invalid requirements input: requirements.txt",
        "python: No module named pip_audit",
        "KeyError: 'requests.exceptions.ConnectionError'",
    ],
)
def test_an_audit_that_can_not_ask_fails(audit, said):
    assert audit("", code=1, complaint=f"{said}\n") == (1, [f"failed: {said}"])


def test_an_audit_that_says_nothing_fails(audit):
    assert audit("", code=0) == (1, ["failed: no answer"])
