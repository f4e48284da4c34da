"""Errors of commands and their exit codes."""

from enum import IntEnum
from typing import Any, TextIO

from kebab.cli.output import plain, write_json


class Exit(IntEnum):
    """The exit codes of commands."""

    DONE = 0
    #: What was looked for doesn't exist, or nothing was found.
    NOTHING = 1
    ERROR = 2
    UNHEALTHY = 3


class CliError(Exception):
    """A command can't do what was requested. The message names the value and the remedy."""

    code = "invalid_arguments"

    def __init__(self, message: str, *, code: str = "", exit_code: Exit = Exit.ERROR) -> None:
        self.code = code or type(self).code
        self.exit_code = exit_code
        #: What is wrong, by field of the request: `field` and `message` each.
        self.fields: list[dict[str, Any]] = []
        super().__init__(message)


def write_error(
    code: str, message: str, stream: TextIO, *, as_json: bool, fields: list[dict[str, Any]] | None = None
) -> None:
    """Write an error as text, or as `error.v1`."""
    if not as_json:
        stream.write(f"error: {plain(message)}\n")
        return
    document: dict[str, Any] = {"schema_version": "error.v1", "code": code, "message": message}
    write_json(stream, document | ({"detail": fields} if fields else {}))
