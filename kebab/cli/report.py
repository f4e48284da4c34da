"""The mapping of any error to an exit code and `error.v1`."""

import logging
from typing import TextIO

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from kebab.cli.errors import CliError, write_error
from kebab.errors import Problem
from kebab.exit_codes import Exit
from kebab.stack.errors import StackError

logger = logging.getLogger(__name__)

# The length limit of a message of an unexpected error.
_MAX_CHARS = 500
# HTTP statuses for missing things; any other one is an error.
_NOTHING = frozenset({404, 410})


def report(error: BaseException, stream: TextIO, *, as_json: bool) -> Exit | None:
    """Write an expected error to `stream` and return the exit code; for a bug write nothing, return None."""
    if isinstance(error, CliError):
        write_error(error.code, str(error), stream, as_json=as_json, fields=error.fields)
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
    fields = [{"field": error.field, "message": error.message} for error in problem.errors]
    write_error(problem.code, problem.detail or problem.title, stream, as_json=as_json, fields=fields)
