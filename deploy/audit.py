"""Check pinned packages for known vulnerabilities: `python deploy/audit.py FILE…`.

Exits with 1 when vulnerabilities are known or the check failed, and with 0 when there are none or the package
index doesn't answer. The latter is reported in one line, so that a machine without network passes.
"""

import json
import re
import subprocess
import sys
from typing import Any

_OPTIONS = ("--no-deps", "--disable-pip", "--format=json", "--progress-spinner=off", "--timeout=15")
# The last line of pip-audit when the index was not reached or its answer is unreadable.
_INDEX_AWAY = re.compile(
    r"(requests\.exceptions|urllib3\.exceptions|pip_audit\._service\.interface)\.\w+|"
    r".*your network may be blocking this service"
)


def main(files: list[str]) -> int:
    """Check the pins of `files`, print the vulnerabilities, and return the exit code."""
    requirements = [argument for file in files for argument in ("--requirement", file)]
    command = [sys.executable, "-m", "pip_audit", *_OPTIONS, *requirements]
    audit = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        packages: list[dict[str, Any]] = json.loads(audit.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        complaint = (audit.stderr.strip().splitlines() or ["no answer"])[-1]
        if _INDEX_AWAY.match(complaint):
            return _print(f"skipped: {complaint}")
        _print(f"failed: {complaint}")
        return 1
    known = [package for package in packages if "vulns" in package]
    if not known:
        return _print(f"skipped: the index knows none of the {len(packages)} packages")
    found = [_describe(package, each) for package in known for each in package["vulns"]]
    missing = f", {len(packages) - len(known)} unknown to the index" if len(known) < len(packages) else ""
    _print("\n".join([*found, f"{len(found)} vulnerabilities in {len(known)} packages{missing}"]))
    return 1 if found else 0


def _describe(package: dict[str, Any], vulnerability: dict[str, Any]) -> str:
    fixed = ", ".join(vulnerability.get("fix_versions", ())) or "no version yet"
    return f"{package['name']} {package['version']}: {vulnerability['id']}, mended in {fixed}"


def _print(text: str) -> int:
    sys.stdout.write(f"{text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
