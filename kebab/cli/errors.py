"""What verbs raise, and how any error becomes an exit code and `error.v1`."""

from enum import IntEnum
from typing import Any, TextIO

from kebab.api.errors import Problem
from kebab.cli.console import plain, write_json
from kebab.stack.errors import StackError


class Exit(IntEnum):
    """How a verb ends."""

    DONE = 0
    NOTHING = 1
    ERROR = 2
    UNHEALTHY = 3


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
    from kebab.api.problems import (
        problem_of,
    )  # it brings the REST framework along: 0.3 s of each verb's start

    problem = problem_of(error)
    if problem is None:
        return None
    tell(problem, stream, as_json=as_json)
    return Exit.NOTHING if problem.status in _NOTHING else Exit.ERROR


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
