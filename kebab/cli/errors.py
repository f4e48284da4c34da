"""Errors of commands, and the exit codes that they lead to."""

import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from kebab.cli.output import plain, write_json
from kebab.exit_codes import Exit


class CliError(Exception):
    """A command can't do what was requested. The message names the value and the remedy."""

    code = "invalid_arguments"
    exit_code = Exit.ERROR

    def __init__(self, message: str, *, code: str = "", exit_code: Exit | None = None) -> None:
        self.code = code or type(self).code
        self.exit_code = type(self).exit_code if exit_code is None else exit_code
        #: What is wrong, by field of the request: `field` and `message` each.
        self.fields: list[dict[str, Any]] = []
        super().__init__(message)


class NotFound(CliError):
    """A thing that an argument names is missing."""

    code = "not_found"
    exit_code = Exit.NOTHING


def write_error(
    code: str, message: str, stream: TextIO, *, as_json: bool, fields: list[dict[str, Any]] | None = None
) -> None:
    """Write an error as text, or as `error.v1`."""
    if not as_json:
        stream.write(f"error: {plain(message)}\n")
        return
    document: dict[str, Any] = {"schema_version": "error.v1", "code": code, "message": message}
    write_json(stream, document | ({"detail": fields} if fields else {}))


_INTERRUPTED = 128 + signal.SIGINT


def run_to_exit_code(act: Callable[[], int], stream: TextIO, *, as_json: bool) -> int:
    """Run what a command does, write its error to `stream`, and return the exit code."""
    try:
        return act()
    except CliError as error:
        write_error(error.code, str(error), stream, as_json=as_json, fields=error.fields)
        return error.exit_code
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader has closed the pipe (`| head`); flushing the buffer must not fail at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.DONE
    except Exception as error:  # noqa: BLE001 - end of the process: any error is reported
        from kebab.cli.report import report_any  # imports Django

        return report_any(error, stream, as_json=as_json)


def refuse_invalid_utf8(options: Mapping[str, Any]) -> None:
    """Raise CliError for text that is not UTF-8, which can't be stored; paths may hold any bytes."""
    for value in options.values():
        for text in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(text, str) and not is_utf8(text):
                raise CliError(f"{text[:200]!r} is not UTF-8; write it in UTF-8.")


def is_utf8(text: str) -> bool:
    """Return whether an argument is valid UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
