"""Syntax reader in a separate process, which may crash or be killed without harm.

tree-sitter may need gigabytes for a single step (ten kilobytes of `a=>` in Java: 3 GB at the file's end),
reports no progress meanwhile, and crashes where it gets no more memory.
"""

import argparse
import atexit
import json
import logging
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from ingest.parsers.errors import SandboxUnavailable
from ingest.parsers.syntax.languages import grammars_for
from ingest.parsers.syntax.tree import read_syntax
from ingest.parsers.types import CodeUnit, FileType, LineSpan, Syntax
from kebab.stack.supervisor.lifeline import die_with_parent

logger = logging.getLogger(__name__)

#: CPU seconds that one file may take; half a megabyte of code takes up to 2
MAX_SECONDS: Final = 3
#: address space above that of the process at its start; half a megabyte of code takes up to 150 MB
MAX_BYTES: Final = 400_000_000
_STATM: Final = Path("/proc/self/statm")
#: exit statuses that the file may not have caused: signals of others, such as a kernel short of memory
_OUTSIDE_SIGNALS: Final = (-signal.SIGKILL, -signal.SIGTERM)


def read_syntax_in_subprocess(lines: Sequence[str], file: FileType) -> Syntax | None:
    """Return the result of `read_syntax`, None also where it dies or reaches a limit of this module.

    Any thread may call it.

    Raises:
        SandboxUnavailable: the separate process can't be started.
    """
    if not grammars_for(file.language, file.path):
        return None
    request = json.dumps([list(lines), file.path, file.language]).encode()
    answer = _process_of(os.getpid()).ask(request)
    return None if answer is None else _from_wire(json.loads(answer))


@cache
def _process_of(pid: int) -> "_SyntaxProcess":
    """Return the syntax process of process `pid`; each fork has its own."""
    process = _SyntaxProcess()
    atexit.register(process.end)
    return process


class _SyntaxProcess:
    """The separate process, started when first needed and again after each death."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None

    def ask(self, request: bytes) -> bytes | None:
        """Return the answer, None when the process died of the request.

        The request is repeated once when a signal from outside killed the process.
        """
        with self._lock:
            for _ in range(2):
                pipe = self._connect()
                try:
                    pipe.send_bytes(request)
                    return pipe.recv_bytes()
                except (EOFError, OSError):
                    status = self.end()
                logger.warning("the process that reads syntax ended with status %d", status)
                if status not in _OUTSIDE_SIGNALS:
                    break
        return None

    def end(self) -> int:
        """Stop the process and return its exit status, 0 when none runs."""
        process, pipe = self._process, self._pipe
        self._process = self._pipe = None
        if pipe is not None:
            pipe.close()
        return 0 if process is None else process.wait()

    def _connect(self) -> Connection:
        if self._process is None or self._pipe is None:
            self._pipe, theirs = Pipe()
            with theirs:
                self._process = _start(theirs.fileno())
        return self._pipe


def _start(requests_fd: int) -> subprocess.Popen[bytes]:
    """Start a fresh interpreter, because a fork of a process with threads may hang."""
    options = ["--parent", str(os.getpid()), "--requests", str(requests_fd)]
    command = [sys.executable, "-P", "-s", "-B", "-m", "ingest.parsers.syntax.subprocess_reader", *options]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    try:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, env=environment, cwd="/", pass_fds=[requests_fd]
        )
    except OSError as error:
        raise SandboxUnavailable(f"the process that reads syntax did not start: {error}") from error


def main() -> None:
    """Answer requests until the other end closes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--requests", type=int, required=True)
    options = parser.parse_args()
    die_with_parent(signal.SIGKILL, parent_pid=options.parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _limit_memory()
    requests = Connection(options.requests)
    with suppress(EOFError, MemoryError):
        while True:
            lines, path, language = json.loads(requests.recv_bytes())
            _limit_time()
            file = FileType(path=path, mime="", media="code", parsers=(), language=language)
            requests.send_bytes(json.dumps(_to_wire(read_syntax(lines, file))).encode())


def _limit_memory() -> None:
    if not _STATM.exists():
        return
    in_use = int(_STATM.read_text().split()[0]) * resource.getpagesize()
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = in_use + MAX_BYTES if most == resource.RLIM_INFINITY else min(in_use + MAX_BYTES, most)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _limit_time() -> None:
    """Have the kernel kill this process after MAX_SECONDS more of CPU time.

    RLIMIT_CPU counts from the start of the process.
    """
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    end = int(used.ru_utime + used.ru_stime) + 1 + MAX_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (end, most))


def _to_wire(syntax: Syntax | None) -> list[Any] | None:
    if syntax is None:
        return None
    return [[_unit_to_wire(unit) for unit in syntax.units], list(syntax.statements.items())]


def _unit_to_wire(unit: CodeUnit) -> list[Any]:
    members = [_unit_to_wire(member) for member in unit.members]
    return [unit.kind, unit.name, unit.span.start, unit.span.end, members]


def _from_wire(values: Sequence[Any] | None) -> Syntax | None:
    if values is None:
        return None
    units, statements = values
    return Syntax(units=_units_from_wire(units), statements=dict(statements))


def _units_from_wire(values: Sequence[Any]) -> tuple[CodeUnit, ...]:
    return tuple(
        CodeUnit(kind=kind, name=name, span=LineSpan(start, end), members=_units_from_wire(members))
        for kind, name, start, end, members in values
    )


if __name__ == "__main__":
    main()
