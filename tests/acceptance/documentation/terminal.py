"""A terminal of an ordinary user, whose commands are those of a page."""

import contextlib
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.support.paths import ROOT
from tests.support.stack import PATIENCE, eventually, free_port

_LIMIT_S = 600.0
_STOP_LIMIT_S = 60.0
# What a network that tests run in may need.
_INHERITED = re.compile(r"PIP_|SSL_|\w+_proxy$", re.IGNORECASE)
_PROGRAMS = {
    "kebab": f'exec "{sys.executable}" "{ROOT / "manage.py"}" "$@"',
    "python": f'exec "{sys.executable}" "$@"',
    # The environment that the tests run in is the installed one, whatever the times of its files.
    "make": f'exec /usr/bin/make -C "{ROOT}" -o .venv/bin/python -o .venv/.installed "$@"',
}
_SHELL = """
set -a
[ ! -f "$STATE" ] || . "$STATE"
trap 'status=$?; {{ export -p; printf "cd %q\\n" "$PWD"; umask -p; }} > "$STATE"; exit $status' EXIT
{options}
{script}
"""
_IN_TERMINAL = "import os, sys; os.login_tty(0); os.execvp(sys.argv[1], sys.argv[1:])"
_PROMPT = re.compile(r"(?:^|\n)[A-Z][^\n]*: ?$")


class Failed(AssertionError):
    """Raised when a command of a page fails."""


class Terminal:
    """A shell with a home of its own; variables, folder and umask last from one command to the next."""

    def __init__(self, home: Path, **environment: str) -> None:
        self.home, self.port = home, free_port()
        self.programs = home.parent / "bin"
        self.programs.mkdir()
        for name, script in _PROGRAMS.items():
            self.add_program(name, script)
        inherited = {name: value for name, value in os.environ.items() if _INHERITED.match(name)}
        self.environment = {
            **inherited,
            **PATIENCE,
            "HOME": str(home),
            "PATH": f"{self.programs}:{os.defpath}:/usr/sbin:/usr/local/bin",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "STATE": str(home.parent / "state"),
            "KEBAB_PORT": str(self.port),
            "KEBAB_DATA_DIR": str(home.parent / "data"),
            **environment,
        }
        self._server: subprocess.Popen[bytes] | None = None
        self._server_log = home.parent / "server.log"

    @property
    def url(self) -> str:
        """Return the address of the stack."""
        return f"http://127.0.0.1:{self.port}"

    def add_program(self, name: str, script: str) -> None:
        """Put a program onto the path."""
        (self.programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.programs / name).chmod(0o755)

    def run(self, script: str, *, options: str = "", answers: Sequence[str] = ()) -> str:
        """Run a script and return its output and errors. Raises Failed."""
        command = ["/bin/bash", "--noprofile", "--norc", "-c", _SHELL.format(script=script, options=options)]
        status, output = self._talk(command, answers) if answers else self._capture(command)
        if status:
            raise Failed(f"{script.strip()}\nended with {status}:\n{output}")
        return output

    def serve(self, command: str) -> None:
        """Run a command that serves until Ctrl-C, instead of the one before it. Raises Failed."""
        self.stop()
        script = _SHELL.format(script=f"trap - EXIT\n{command}", options="")
        with self._server_log.open("wb") as log:
            self._server = subprocess.Popen(
                ["/bin/bash", "--noprofile", "--norc", "-c", script],
                cwd=self.home,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        eventually(lambda: "Kebab serves at" in self.served() or self._has_ended(), command, _LIMIT_S)
        if self._has_ended():
            raise Failed(f"{command}\nended:\n{self.served()}")

    def served(self) -> str:
        """Return the output of the command that serves."""
        return self._server_log.read_text()

    def stop(self) -> None:
        """Press Ctrl-C in the terminal of the command that serves."""
        if self._server is not None and not self._has_ended():
            os.killpg(self._server.pid, signal.SIGINT)
            self._server.wait(_STOP_LIMIT_S)

    def _has_ended(self) -> bool:
        return self._server is not None and self._server.poll() is not None

    def _capture(self, command: Sequence[str]) -> tuple[int, str]:
        done = subprocess.run(
            command,
            cwd=self.home,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
        return done.returncode, done.stdout

    def _talk(self, command: Sequence[str], answers: Sequence[str]) -> tuple[int, str]:
        """Run a command that asks, and answer it."""
        ours, theirs = pty.openpty()
        program = [sys.executable, "-c", _IN_TERMINAL, *command]
        with subprocess.Popen(
            program, cwd=self.home, env=self.environment, stdin=theirs, stdout=theirs, stderr=theirs
        ) as talking:
            os.close(theirs)
            left, output, unanswered = list(answers), b"", 0
            with contextlib.suppress(OSError):  # that is how a terminal ends
                while read := os.read(ours, 65_536):
                    output += read
                    if left and _PROMPT.search(
                        output[unanswered:].decode(errors="replace").replace("\r", "")
                    ):
                        unanswered = len(output)
                        os.write(ours, left.pop(0).encode() + b"\n")
            os.close(ours)
        return talking.returncode, output.decode().replace("\r\n", "\n")


def is_complete(command: str) -> bool:
    """Return whether a shell needs no further line."""
    checked = subprocess.run(["/bin/bash", "-n"], input=command, text=True, capture_output=True, check=False)
    return not checked.returncode and not checked.stderr and not command.endswith("\\")
