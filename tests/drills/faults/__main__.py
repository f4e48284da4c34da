"""Command that plants each fault in a copy of the repository and names the default test that detects it.

`python -m tests.drills.faults` plants all faults; with arguments, those whose names contain one of them. Exit
status 1 when a fault is not detected.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.drills.faults.table import FAULTS, Fault
from tests.support.paths import ROOT

_FAILED = re.compile(r"^(?:FAILED|ERROR|SUBFAILED\S*) (\S+)", re.MULTILINE)


def main(names: list[str]) -> int:
    """Plant the faults, and return 1 when some were not detected."""
    chosen = [fault for fault in FAULTS if not names or any(word in fault.name for word in names)]
    folder = Path(tempfile.mkdtemp(prefix="kebab-faults-"))
    folder.chmod(0o711)
    copy, data = folder / "copy", folder / "data"
    data.mkdir(mode=0o711)
    try:
        subprocess.run([shutil.which("git") or "git", "clone", "--quiet", ROOT, copy], check=True)
        missed = sum(not _is_caught(fault, copy, data) for fault in chosen)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.write(f"{len(chosen) - missed} of {len(chosen)} faults caught\n")
    return 1 if missed else 0


def _is_caught(fault: Fault, copy: Path, data: Path) -> bool:
    path = copy / fault.file
    text = path.read_text()
    if text.count(fault.right) != 1:
        raise SystemExit(
            f"{fault.name}: the replaced text occurs {text.count(fault.right)} times in {fault.file}"
        )
    path.write_text(text.replace(fault.right, fault.wrong))
    try:
        for tests in (*fault.tests, ""):
            if failing_test := _failing(copy, data, tests):
                sys.stdout.write(f"caught  {fault.name}: {failing_test}\n")
                sys.stdout.flush()
                return True
    finally:
        path.write_text(text)
    sys.stdout.write(f"MISSED  {fault.name}\n")
    return False


def _failing(copy: Path, data: Path, tests: str) -> str | None:
    """Return the first default test that fails; `tests` is a file or folder below tests/, "": all of them."""
    if tests and not (copy / "tests" / tests).exists():
        return None
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--reuse-db", "--durations=0", "--durations-min=9"]
    command += [f"tests/{tests}"] if tests else []
    environment = {**os.environ, "KEBAB_DATA_DIR": str(data), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    found = _FAILED.search(done.stdout)
    if found is None and done.returncode not in (0, 5):
        raise SystemExit(done.stdout[-3000:] + done.stderr[-2000:])
    return None if found is None else found[1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
