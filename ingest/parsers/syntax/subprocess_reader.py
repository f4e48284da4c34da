"""Syntax reader in a separate process, which may crash or be killed without harm.

tree-sitter may need gigabytes for a single step (ten kilobytes of `a=>` in Java: 3 GB at the file's end),
reports no progress meanwhile, and crashes where it gets no more memory.
"""

import atexit
import logging
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache, partial
from typing import Any, Final

from ingest.parsers.syntax.languages import grammars_for
from ingest.parsers.syntax.tree import read_syntax
from ingest.parsers.types import CodeUnit, FileType, LineSpan, Syntax
from kebab.sandbox.child import serve
from kebab.sandbox.deadline import Deadline
from kebab.sandbox.errors import ChildDied
from kebab.sandbox.frames import Header
from kebab.sandbox.process import Request
from kebab.sandbox.program import Limits, Program
from kebab.sandbox.worker import SandboxWorker

logger = logging.getLogger(__name__)

#: half a megabyte of code takes up to 2 CPU seconds and 150 MB
PROGRAM: Final = Program(
    module="ingest.parsers.syntax.subprocess_reader",
    limits=Limits(extra_address_space_bytes=400_000_000, request_cpu_seconds=3),
)
#: wall-clock limit, for a process that hangs without using the CPU
MAX_SECONDS: Final = 1_800.0


def read_syntax_in_subprocess(lines: Sequence[str], file: FileType) -> Syntax | None:
    """Return the result of `read_syntax`, None also where it dies or reaches a limit of this module.

    Any thread may call it.

    Raises:
        SandboxUnavailable: the separate process can't be started.
    """
    if not grammars_for(file.language, file.path):
        return None
    request = Request(
        header={"lines": lines, "path": file.path, "language": file.language},
        start_deadline=partial(Deadline, MAX_SECONDS),
        log_stderr=partial(logger.warning, "the process that reads syntax: %s"),
    )
    lock, worker = _worker_of(os.getpid())
    try:
        with lock:
            return worker.ask(request, _read_reply)
    except ChildDied as death:
        logger.warning("the process that reads syntax died: %s", death.reason)
        return None


@cache
def _worker_of(pid: int) -> tuple[threading.Lock, SandboxWorker]:
    """Return the worker of process `pid` with its lock; each fork has its own."""
    worker = SandboxWorker(PROGRAM)
    atexit.register(worker.close)
    return threading.Lock(), worker


def _read_reply(replies: Iterator[Header]) -> Syntax | None:
    syntax = next(replies)["syntax"]
    if syntax is None:
        return None
    statements = {int(line): depth for line, depth in syntax["statements"].items()}
    return Syntax(units=_read_units(syntax["units"]), statements=statements)


def _read_units(units: Sequence[Mapping[str, Any]]) -> tuple[CodeUnit, ...]:
    return tuple(
        CodeUnit(**{**unit, "span": LineSpan(**unit["span"]), "members": _read_units(unit["members"])})
        for unit in units
    )


def _handle(header: Header, _: bytes) -> Iterator[Header]:
    file = FileType(path=header["path"], mime="", media="code", parsers=(), language=header["language"])
    syntax = read_syntax(header["lines"], file)
    yield {"syntax": None if syntax is None else asdict(syntax)}


if __name__ == "__main__":
    serve(_handle)
