"""Errors of commands, exit codes, and the mapping of any error to an exit code and `error.v1`."""

import logging
from enum import IntEnum
from typing import Any, TextIO

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from kebab.cli.output import plain, write_json
from kebab.http.api.errors import Problem
from kebab.stack.errors import StackError


class Exit(IntEnum):
    """The exit codes of commands."""

    DONE = 0
    NOTHING = 1
    ERROR = 2
    UNHEALTHY = 3


logger = logging.getLogger(__name__)

# The length limit of a message of an unexpected error.
_MAX_CHARS = 500
# HTTP statuses for refused or missing things; any other one is an error.
_NOTHING = frozenset({403, 404, 409, 410})


class CliError(Exception):
    """A command can't do what was requested. The message names the value and the remedy."""

    code = "invalid_arguments"

    def __init__(self, message: str, *, code: str = "", exit_code: Exit = Exit.ERROR) -> None:
        self.code = code or type(self).code
        self.exit_code = exit_code
        super().__init__(message)


def report(error: BaseException, stream: TextIO, *, as_json: bool) -> Exit | None:
    """Write an expected error to `stream` and return the exit code; for a bug write nothing, return None."""
    if isinstance(error, CliError):
        write_problem(Problem(status=400, code=error.code, detail=str(error)), stream, as_json=as_json)
        return error.exit_code
    if isinstance(error, StackError):
        write_problem(Problem(status=503, code=error.code, detail=str(error)), stream, as_json=as_json)
        return Exit.ERROR
    if isinstance(error, ImproperlyConfigured):
        write_problem(Problem(status=500, code="wrong_settings", detail=str(error)), stream, as_json=as_json)
        return Exit.ERROR
    if not settings.configured:  # mapping other errors needs the settings, and would fail again
        return None
    from kebab.http.api.problems import (
        problem_of,  # it imports the REST framework, which takes 0.3 s
    )

    problem = problem_of(error)
    if problem is None:
        return None
    write_problem(problem, stream, as_json=as_json)
    return Exit.NOTHING if problem.status in _NOTHING else Exit.ERROR


def report_any(error: Exception, stream: TextIO, *, as_json: bool) -> Exit:
    """Write any error to `stream` and return the exit code; a bug is logged with its traceback.

    The traceback is omitted at a terminal and with JSON output, unless KEBAB_DEBUG is set.
    """
    code = report(error, stream, as_json=as_json)
    if code is not None:
        return code
    is_logged = not settings.configured or settings.DEBUG or not (as_json or stream.isatty())
    if is_logged:
        logger.error("%r", error, exc_info=error)
    hint = "" if is_logged else " With KEBAB_DEBUG=1 it says where."
    detail = f"An unexpected {type(error).__name__}: {str(error)[:_MAX_CHARS] or 'it says nothing'}.{hint}"
    write_problem(Problem(status=500, code="internal_error", detail=detail), stream, as_json=as_json)
    return Exit.ERROR


def write_problem(problem: Problem, stream: TextIO, *, as_json: bool) -> None:
    """Write `problem` as text, or as `error.v1`."""
    message = problem.detail or problem.title
    if not as_json:
        stream.write(f"error: {plain(message)}\n")
        return
    document: dict[str, Any] = {"schema_version": "error.v1", "code": problem.code, "message": message}
    if problem.errors:
        document["detail"] = [{"field": error.field, "message": error.message} for error in problem.errors]
    write_json(stream, document)
