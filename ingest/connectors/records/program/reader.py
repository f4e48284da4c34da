"""Reader of the records that a program prints, run in the sandbox."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any, Final

from django.conf import settings as django_settings

from ingest.connectors.errors import ListingFailed
from ingest.connectors.records.program.lines import InvalidLine, parse_line
from ingest.connectors.records.protocol import PROTOCOL, Record
from ingest.connectors.records.settings import ReaderSettings
from ingest.errors import AddressNotAllowed
from kebab.sandbox.deadline import Deadline
from kebab.sandbox.errors import ChildDied, SandboxUnavailable
from kebab.sandbox.process import Request, run_once
from kebab.sandbox.program import Limits, Program

_PROGRAM: Final = Program(
    module="ingest.connectors.records.program.child",
    limits=Limits(extra_data_bytes=2 * 1024**3, cpu_seconds=3_600),
    libraries=(),
)
# A program that prints nothing for this long is ended.
_SILENCE_S: Final = 600.0
# With the time in which what it printed is stored.
_LONGEST_S: Final = 24 * 3_600.0
_MAX_REMARK_CHARS: Final = 500


def check_program(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config of a program that the operator offers. Raises AddressNotAllowed."""
    names = sorted(django_settings.KEBAB_CONNECTORS)
    if config["program"] not in names:
        offered = ", ".join(names) or "none"
        raise AddressNotAllowed(
            f"There is no program {config['program'][:100]!r}; this server has: {offered}."
        )
    parse_options(config.get("options", ()))
    return dict(config)


def parse_options(options: Sequence[str]) -> dict[str, str]:
    """Return the options of a program, given as `name=value`. Raises AddressNotAllowed."""
    pairs = [option.partition("=") for option in options]
    for name, mark, _ in pairs:
        if not (name and mark):
            raise AddressNotAllowed("Give options as name=value.")
    return {name.strip(): value.strip() for name, _, value in pairs}


class ProgramReader:
    """A reader of what a program of the operator prints."""

    def __init__(self, settings: ReaderSettings) -> None:
        config = check_program(settings.config)  # the operator may have withdrawn it
        self._command = django_settings.KEBAB_CONNECTORS[config["program"]]
        self._input = {
            "config": parse_options(config.get("options", ())),
            "credentials": dict(settings.credentials),
        }
        self._while_waiting = settings.while_waiting

    def records(self, cursor: str) -> Iterator[Record]:
        """Yield the program's records. Raises ListingFailed."""
        return run_program(self._command, {**self._input, "cursor": cursor}, self._while_waiting)

    def fetch(self, path: str, locator: str, limit_bytes: int) -> bytes:
        """Raise OSError: what has changed must come with its content."""
        raise OSError("The program named it with a new version, but without its text.")

    def close(self) -> None:
        """Do nothing: the program ends with its records."""


def run_program(
    command: Sequence[str], given: Mapping[str, Any], while_waiting: Callable[[], None]
) -> Iterator[Record]:
    """Yield the records that a program prints. Raises ListingFailed, also for another exit status than 0."""
    remarks: list[str] = []
    request = Request(
        header={"command": list(command)},
        content=json.dumps({"protocol": PROTOCOL, **given}).encode() + b"\n",
        start_deadline=partial(Deadline, _LONGEST_S),
        log_stderr=remarks.append,
    )
    with closing(run_once(_PROGRAM, request)) as replies:
        try:
            yield from _read_replies(replies, while_waiting)
        except (ChildDied, SandboxUnavailable) as error:
            raise ListingFailed(_ending(f"The program broke off: {_reason(error)}.", remarks)) from error
        except _EndedBadly as error:
            replies.close()
            raise ListingFailed(_ending(str(error), remarks)) from error


class _EndedBadly(Exception):
    """The program is at fault; the message says how."""


def _read_replies(replies: Iterator[dict[str, Any]], while_waiting: Callable[[], None]) -> Iterator[Record]:
    number, heard_at = 0, time.monotonic()
    for reply in replies:
        while_waiting()
        if "status" in reply:
            if reply["status"] != 0:
                raise _EndedBadly(f"The program ended with status {reply['status']}.")
            if number == 0:
                raise _EndedBadly("The program printed nothing.")
            return
        if "line" not in reply:
            if time.monotonic() - heard_at > _SILENCE_S:
                raise _EndedBadly(f"The program printed nothing for {_SILENCE_S:g} s.")
            continue
        number += 1
        try:
            record = _parse_numbered(reply["line"], number)
        except InvalidLine as error:
            raise _EndedBadly(f"Line {number} of the program is no record: {error}.") from error
        if record is not None:
            yield record
        heard_at = time.monotonic()


def _parse_numbered(line: str, number: int) -> Record | None:
    record = parse_line(line)
    if (number == 1) != (record is None):
        raise InvalidLine(f"the first line, and no other, is of type start, with the protocol {PROTOCOL}")
    return record


def _reason(error: ChildDied | SandboxUnavailable) -> str:
    detail = getattr(error, "detail", "")
    return f"{error} ({detail})" if detail else str(error)


def _ending(message: str, remarks: Sequence[str]) -> str:
    said = " ".join(remarks).strip()[-_MAX_REMARK_CHARS:]
    return f"{message} It says: {said}" if said else message
