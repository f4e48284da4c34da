"""What verbs raise, and how any error becomes an exit code and `error.v1`."""

import logging
from enum import IntEnum
from typing import Any, TextIO

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from kebab.cli.output import plain, write_json
from kebab.http.api.errors import Problem
from kebab.stack.errors import StackError


class Exit(IntEnum):
    """How a verb ends."""

    DONE = 0
    NOTHING = 1
    ERROR = 2
    UNHEALTHY = 3


logger = logging.getLogger(__name__)

# Of a message that was not written for people.
_MAX_CHARS = 500
# Refused or not there; anything else is an error.
_NOTHING = frozenset({403, 404, 409, 410})


class CliError(Exception):
    """A verb can't do what was asked. The message names the value and the remedy."""

    code = "invalid_arguments"

    def __init__(self, message: str, *, code: str = "", exit_code: Exit = Exit.ERROR) -> None:
        self.code = code or type(self).code
        self.exit_code = exit_code
        super().__init__(message)


def report(error: BaseException, stream: TextIO, *, as_json: bool) -> Exit | None:
    """Tell an expected error on `stream` and give the exit code; None, nothing told, for a defect of ours."""
    if isinstance(error, CliError):
        tell(Problem(status=400, code=error.code, detail=str(error)), stream, as_json=as_json)
        return error.exit_code
    if isinstance(error, StackError):
        tell(Problem(status=503, code=error.code, detail=str(error)), stream, as_json=as_json)
        return Exit.ERROR
    if isinstance(error, ImproperlyConfigured):
        tell(Problem(status=500, code="wrong_settings", detail=str(error)), stream, as_json=as_json)
        return Exit.ERROR
    if not settings.configured:  # what knows further errors asks the settings, and would fail as they did
        return None
    from kebab.http.api.problems import (
        problem_of,  # it brings the REST framework along: 0.3 s of each verb's start
    )

    problem = problem_of(error)
    if problem is None:
        return None
    tell(problem, stream, as_json=as_json)
    return Exit.NOTHING if problem.status in _NOTHING else Exit.ERROR


def report_any(error: Exception, stream: TextIO, *, as_json: bool) -> Exit:
    """Tell any error on `stream` and give the exit code; a defect of ours is logged with its traceback.

    But not to a person at a terminal, nor to a program that reads JSON, unless KEBAB_DEBUG is set.
    """
    code = report(error, stream, as_json=as_json)
    if code is not None:
        return code
    is_logged = not settings.configured or settings.DEBUG or not (as_json or stream.isatty())
    if is_logged:
        logger.error("%r", error, exc_info=error)
    hint = "" if is_logged else " With KEBAB_DEBUG=1 it says where."
    detail = f"An unexpected {type(error).__name__}: {str(error)[:_MAX_CHARS] or 'it says nothing'}.{hint}"
    tell(Problem(status=500, code="internal_error", detail=detail), stream, as_json=as_json)
    return Exit.ERROR


def tell(problem: Problem, stream: TextIO, *, as_json: bool) -> None:
    """Write `problem` for people, or as `error.v1`."""
    message = problem.detail or problem.title
    if not as_json:
        stream.write(f"error: {plain(message)}\n")
        return
    document: dict[str, Any] = {"schema_version": "error.v1", "code": problem.code, "message": message}
    if problem.errors:
        document["detail"] = [{"field": error.field, "message": error.message} for error in problem.errors]
    write_json(stream, document)
