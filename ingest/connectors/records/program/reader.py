"""Reader of the records that a program prints."""

import base64
import binascii
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from typing import IO, Any, Final, NoReturn

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import best_match

from ingest.connectors.errors import ListingFailed
from ingest.connectors.records.requests import ReaderSettings
from ingest.connectors.records.wire import (
    PROTOCOL,
    CompleteRecord,
    CursorRecord,
    DeletedRecord,
    DocumentRecord,
    Record,
    WarningRecord,
)
from kebab.locations import DOCS
from kebab.runtime import lifeline
from kebab.sandbox.program import report_progress

_SCHEMA: Final = "connector_record.v1"
_TEXTS: Final = ("path", "version", "media_type", "title", "author")


class InvalidLine(Exception):
    """A line is no record; the message says why."""


def parse_line(line: str) -> Record | None:
    """Parse a line; None for `start`. Raises InvalidLine, and ListingFailed for an error of the source."""
    try:
        record = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidLine(f"it is not JSON: {error}") from error
    fault = best_match(_validator().iter_errors(record))
    if fault is not None:
        place = ".".join(map(str, fault.absolute_path))
        raise InvalidLine(f"{place}: {fault.message[:200]}" if place else fault.message[:200])
    return _build_record(record)


def _build_record(record: dict[str, Any]) -> Record | None:
    match record["type"]:
        case "start":
            return None
        case "document":
            return _build_document(record)
        case "deleted":
            return DeletedRecord(path=record["path"])
        case "cursor":
            return CursorRecord(state=record["state"])
        case "complete":
            return CompleteRecord()
        case "warning":
            return WarningRecord(message=record["message"])
    raise ListingFailed(record["message"])


def _build_document(record: dict[str, Any]) -> DocumentRecord:
    content = record["text"].encode(errors="replace") if "text" in record else None
    if "base64" in record:
        try:
            content = base64.b64decode(record["base64"], validate=True)
        except binascii.Error as error:
            raise InvalidLine(f"base64: {error}") from error
    dated = datetime.fromisoformat(record["dated"]) if "dated" in record else None
    return DocumentRecord(
        **{name: record.get(name, "") for name in _TEXTS},
        content=content,
        dated=dated if dated is None or dated.tzinfo else dated.replace(tzinfo=UTC),
        metadata=record.get("metadata", {}),
        groups=record.get("groups"),
    )


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


@cache
def _validator() -> Draft202012Validator:
    schema = json.loads((DOCS / "wire-schema" / "v1" / f"{_SCHEMA}.json").read_text(encoding="utf-8"))
    assert schema["properties"]["protocol"]["const"] == PROTOCOL  # noqa: S101  # of one piece with this module
    return Draft202012Validator(schema, format_checker=_formats())


def _formats() -> FormatChecker:
    checker = FormatChecker(formats=())
    checker.checks("date-time", raises=ValueError)(
        lambda value: not isinstance(value, str) or bool(datetime.fromisoformat(value))
    )
    return checker


_MAX_LINE_BYTES: Final = 64 * 1024**2
_PIECE_BYTES: Final = 1024**2
_WAIT_S: Final = 0.5
_MAX_REMARK_BYTES: Final = 500


class ProgramReader:
    """A reader of what a program of the operator prints."""

    def __init__(self, settings: ReaderSettings) -> None:
        self._command = settings.config["command"]
        self._input = {"config": settings.config["options"], "credentials": dict(settings.credentials)}
        self._silence_s = settings.limits.silence_s

    def records(self, cursor: str) -> Iterator[Record]:
        """Yield the program's records. Raises ListingFailed, also for another exit status than 0."""
        tie = [sys.executable, lifeline.__file__, "--signal", "9", "--parent", str(os.getpid()), "--"]
        given = {"protocol": PROTOCOL, **self._input, "cursor": cursor}
        with subprocess.Popen(
            [*tie, *self._command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
            cwd="/",
            bufsize=0,
        ) as process:
            output = _Output(process, self._silence_s)
            try:
                yield from _read_records(process, output, json.dumps(given).encode() + b"\n")
            except _EndedBadly as error:
                process.kill()
                output.read_remarks()
                raise ListingFailed(output.describe(str(error))) from error
            finally:
                process.kill()

    def fetch(self, path: str, locator: str, limit_bytes: int) -> bytes:
        """Raise OSError: what has changed must come with its content."""
        raise OSError("The program named it with a new version, but without its text.")

    def close(self) -> None:
        """Do nothing: the program ends with its records."""


class _EndedBadly(Exception):
    """The program is at fault; the message says how."""


class _Output:
    """Output of a program: its lines, and the end of its remarks on standard error."""

    def __init__(self, process: "subprocess.Popen[bytes]", silence_s: float) -> None:
        self._lines, self._remarks = _pipe(process.stdout), _pipe(process.stderr)
        self._silence_s = silence_s
        self._remark = b""

    def lines(self) -> Iterator[str]:
        """Yield its lines. Raises _EndedBadly for too long a line or silence."""
        received = bytearray()
        for piece in self._pieces():
            received += piece
            if len(received) > _MAX_LINE_BYTES + _PIECE_BYTES:
                raise _EndedBadly(f"The program printed a line of more than {_MAX_LINE_BYTES:,} bytes.")
            if piece and b"\n" not in piece:
                continue
            lines = received.split(b"\n")
            received = bytearray() if not piece else lines.pop()
            for line in filter(bytes.strip, map(bytes, lines)):
                yield line.decode(errors="replace")

    def describe(self, message: str) -> str:
        """Return the message with the program's last remarks."""
        said = self._remark.decode(errors="replace").strip()
        return f"{message} It says: {said}" if said else message

    def read_remarks(self, wait_s: float = _WAIT_S) -> None:
        """Read the remarks until they end or nothing comes for `wait_s`."""
        while select.select([self._remarks], [], [], wait_s)[0]:
            if not self._read_remark():
                return

    def _pieces(self) -> Iterator[bytes]:
        """Yield what it prints, at last b"". Raises _EndedBadly after too long a silence."""
        pipes, heard_at = [self._lines, self._remarks], time.monotonic()
        while True:
            ready = select.select(pipes, [], [], _WAIT_S)[0]
            report_progress()
            if self._remarks in ready and not self._read_remark():
                pipes.remove(self._remarks)
            if self._lines in ready:
                piece = os.read(self._lines.fileno(), _PIECE_BYTES)
                yield piece
                if not piece:
                    return
                heard_at = time.monotonic()
            elif time.monotonic() - heard_at > self._silence_s:
                raise _EndedBadly(f"The program printed nothing for {self._silence_s:g} s.")

    def _read_remark(self) -> bool:
        piece = os.read(self._remarks.fileno(), _PIECE_BYTES)
        self._remark = (self._remark + piece)[-_MAX_REMARK_BYTES:]
        return bool(piece)


def _read_records(process: "subprocess.Popen[bytes]", output: _Output, given: bytes) -> Iterator[Record]:
    # Beside the reading: a program may print before it reads.
    threading.Thread(target=_send, args=(_pipe(process.stdin), given), daemon=True).start()
    number = 0
    for number, line in enumerate(output.lines(), 1):
        try:
            record = parse_line(line)
            if (number == 1) != (record is None):
                raise InvalidLine(
                    f"the first line, and no other, is of type start, with the protocol {PROTOCOL}"
                )
        except InvalidLine as error:
            raise _EndedBadly(f"Line {number} of the program is not a record: {error}.") from error
        if record is not None:
            yield record
    if (status := process.wait()) != 0:
        raise _EndedBadly(f"The program ended with status {status}.")
    if number == 0:
        raise _EndedBadly("The program printed nothing.")


def _send(pipe: IO[bytes], content: bytes) -> None:
    try:
        with pipe:
            pipe.write(content)
    except OSError:  # it does not read
        return


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None  # noqa: S101  # for the type checker
    return pipe
