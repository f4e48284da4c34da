"""Source code as lines, with its definitions where its language has a grammar.

Syntax is read in a separate process, which may crash or be killed without harm: tree-sitter may need
gigabytes for a single step (ten kilobytes of `a=>` in Java: 3 GB at the file's end), reports no progress
meanwhile, and crashes where it gets no more memory.
"""

import atexit
import logging
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache, partial
from typing import Any, Final

from ingest.parsers.data.escapes import decode_escapes
from ingest.parsers.decode import decode, split_lines
from ingest.parsers.errors import ParseRefused
from ingest.parsers.syntax.tree import grammars_for, read_syntax
from ingest.parsers.types import Block, CodeUnit, FileType, LineSpan, Outline, Syntax
from kebab.sandbox.child import serve
from kebab.sandbox.process import Deadline, Request
from kebab.sandbox.program import ChildDied, Header, Limits, Program
from kebab.sandbox.worker import SandboxWorker

logger = logging.getLogger(__name__)

#: half a megabyte of code takes up to 2 CPU seconds and 150 MB
PROGRAM: Final = Program(
    module="ingest.parsers.syntax.code",
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


GENERATED = re.compile(r"@generated\b|\bcode generated\b.*\bdo not edit\b|<auto-?generated", re.IGNORECASE)
GENERATED_LINES = 5
#: mean length of non-blank lines above which a file counts as minified
MINIFIED_LINE_CHARS = 400
MINIFIED_MIN_CHARS = 2_000


def parse_code(content: bytes, file: FileType) -> Outline:
    """Return the lines of a source file as one block of code.

    Raises:
        ParseRefused: a tool wrote the file (`generated`, `minified`).
    """
    lines = split_lines(decode(content))
    if file.language == "xml" and (decoded := decode_escapes(lines, "xml")) is not None:
        lines = [line for (line,) in decoded]  # references are no line ends
    _refuse_machine_output(lines)
    if not any(line.strip() for line in lines):
        return Outline(lines=lines, blocks=())
    block = Block(
        kind="code",
        span=LineSpan(1, len(lines)),
        language=file.language,
        syntax=read_syntax_in_subprocess(lines, file),
    )
    return Outline(lines=lines, blocks=(block,))


def _refuse_machine_output(lines: list[str]) -> None:
    if any(GENERATED.search(line[:400]) for line in lines[:GENERATED_LINES]):
        raise ParseRefused("generated", "the file says that a tool generated it")
    filled = [len(line) for line in lines if line.strip()]
    size = sum(filled)
    if size > MINIFIED_MIN_CHARS and size / len(filled) > MINIFIED_LINE_CHARS:
        raise ParseRefused("minified", f"its lines have {size // len(filled)} characters on average")
