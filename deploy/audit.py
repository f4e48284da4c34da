"""Asks the package index whether what is pinned has known vulnerabilities: `python deploy/audit.py FILE…`.

Exits with 1 when some are known or nothing was asked, and with 0 when none are, or when the index doesn't
answer: that is said in one line, and no reason for a machine without network to fail.
"""

import json
import re
import subprocess
import sys
from typing import Any

_OPTIONS = ("--no-deps", "--disable-pip", "--format=json", "--progress-spinner=off", "--timeout=15")
# The last line of pip-audit where it was not reached, or answered nonsense.
_INDEX_AWAY = re.compile(
    r"(requests\.exceptions|urllib3\.exceptions|pip_audit\._service\.interface)\.\w+|"
    r".*your network may be blocking this service"
)


def main(files: list[str]) -> int:
    """Ask about the pins of `files`, say what is known, and give the exit code."""
    requirements = [argument for file in files for argument in ("--requirement", file)]
    command = [sys.executable, "-m", "pip_audit", *_OPTIONS, *requirements]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        packages: list[dict[str, Any]] = json.loads(asked.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        complaint = (asked.stderr.strip().splitlines() or ["no answer"])[-1]
        if _INDEX_AWAY.match(complaint):
            return _say(f"skipped: {complaint}")
        _say(f"failed: {complaint}")
        return 1
    known = [package for package in packages if "vulns" in package]
    if not known:
        return _say(f"skipped: the index knows none of the {len(packages)} packages")
    found = [_described(package, each) for package in known for each in package["vulns"]]
    missing = f", {len(packages) - len(known)} unknown to the index" if len(known) < len(packages) else ""
    _say("\n".join([*found, f"{len(found)} vulnerabilities in {len(known)} packages{missing}"]))
    return 1 if found else 0


def _described(package: dict[str, Any], vulnerability: dict[str, Any]) -> str:
    mended = ", ".join(vulnerability.get("fix_versions", ())) or "no version yet"
    return f"{package['name']} {package['version']}: {vulnerability['id']}, mended in {mended}"


def _say(text: str) -> int:
    sys.stdout.write(f"{text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
