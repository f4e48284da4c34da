"""Errors of commands."""

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
