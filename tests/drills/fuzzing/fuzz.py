"""Fuzzer that sends generated requests to every operation of an OpenAPI document and checks the answers."""

import itertools
import json
import math
import time
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from requests.exceptions import InvalidHeader, InvalidURL
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.drills.fuzzing.pool import Pool

_CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
# Valid requests of ten to an operation; the others violate its description.
_RIGHT = 6
# A stream ends with its job; it has tests of its own.
_STREAMS = frozenset({"job_events_get"})

# The web server's answer to an unreadable request line, which never reaches the application.
_UNREADABLE = b"Invalid HTTP request received."

Call = Callable[[Case], Any]


@dataclass
class Tally:
    """Counts of the sent requests, and the faults of their answers."""

    #: Number of each status by operation (`GET /api/v1/workspaces`).
    operations: dict[str, Counter[int]] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Return the number of answered requests."""
        return self.statuses.total()

    @property
    def statuses(self) -> Counter[int]:
        """Return the number of each status over all operations."""
        return sum(self.operations.values(), Counter())

    @property
    def succeeded_operations(self) -> set[str]:
        """Return the operations that succeeded at least once."""
        return {name for name, statuses in self.operations.items() if min(statuses, default=500) < 300}


def fuzz(
    schema: Any,
    call: Call,
    pool: Pool,
    *,
    seed_number: int,
    requests: int = 0,
    limit_s: float = math.inf,
    left_out: Collection[str] = (),
) -> Tally:
    """Send requests to all operations in turn: one round at least, then until `requests` were answered.

    Ends with fewer after `limit_s` seconds.
    """
    tally, deadline = Tally(), time.monotonic() + limit_s
    operations = [each for each in listed_operations(schema) if _name(each) not in left_out]
    for number, operation in _rounds(operations):
        if number and (tally.n >= requests or time.monotonic() > deadline):
            break
        tally.operations.setdefault(_name(operation), Counter())
        for mode, n in ((GenerationMode.POSITIVE, _RIGHT), (GenerationMode.NEGATIVE, 10 - _RIGHT)):
            _send(operation, mode, n, call, pool, tally, seed_number + number)
    return tally


def _rounds(operations: Collection[Any]) -> Iterator[tuple[int, Any]]:
    """Yield the operations again and again, with the number of the round."""
    return ((number, operation) for number in itertools.count() for operation in operations)


def listed_operations(schema: Any) -> list[Any]:
    """Return the operations of a description, those that provide ids first."""
    schema.config.generation.update(with_security_parameters=False)  # whoever sends them authenticates
    return sorted(_operations(schema), key=_order)


def _operations(schema: Any) -> Iterator[Any]:
    for result in schema.get_all_operations():
        operation = result.ok()
        if operation.definition.raw.get("operationId") not in _STREAMS:
            yield operation


def _name(operation: Any) -> str:
    return f"{operation.method.upper()} {operation.path}"


def _order(operation: Any) -> tuple[int, int, str]:
    """Return a sort key: lists first, as they provide ids; nested objects are deleted before parents."""
    turn = ["get", "post", "put", "patch", "delete"].index(operation.method.lower())
    depth = operation.path.count("/")
    return turn, -depth if operation.method.lower() == "delete" else depth, operation.path


def _send(operation: Any, mode: Any, n: int, call: Call, pool: Pool, tally: Tally, seed_number: int) -> None:
    for case in collect_cases(operation, mode, n, seed_number):
        case.path_parameters = pool.arguments(case.path_parameters or {})
        if isinstance(case.body, dict):
            case.body = pool.fields(_name(operation), case.body)
        else:
            case.query = pool.fields(_name(operation), case.query or {})
        _validate(case, call, pool, tally)


def collect_cases(operation: Any, mode: Any, n: int, seed_number: int) -> list[Case]:
    """Return up to `n` generated requests to an operation, valid or not."""
    cases: list[Case] = []

    @seed(seed_number)
    @settings(
        max_examples=n,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def collect(case: Case) -> None:
        cases.append(case)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the generator's warnings about formats
            collect()
    except (schemathesis.errors.SchemathesisError, Unsatisfiable):
        # An operation that takes only ids has no invalid requests.
        if mode is not GenerationMode.NEGATIVE:
            raise
    return cases


def _validate(case: Case, call: Call, pool: Pool, tally: Tally) -> None:
    try:
        response = call(case)
    except (InvalidHeader, InvalidURL, UnicodeError):
        return  # no client can send this
    if response.content == _UNREADABLE:
        return
    name = _name(case.operation)
    tally.operations[name][response.status_code] += 1
    try:
        case.validate_response(response, checks=_CHECKS)
    except FailureGroup as group:
        for failure in group.exceptions:
            kind = f"{response.status_code} {type(failure).__name__}"
            tally.faults.setdefault(f"{name}: {kind}", _describe(case, failure, response))
    if response.status_code < 300 and "json" in response.headers.get("content-type", [""])[0]:
        pool.learn(case.formatted_path, json.loads(response.content))


def _describe(case: Case, failure: Any, response: Any) -> str:
    return f"{str(failure)[:800]}\n{case.as_curl_command()[:800]}\n{response.content[:500]!r}"
