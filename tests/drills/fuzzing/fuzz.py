"""Sends made-up requests to every operation of an OpenAPI document and judges the answers by it."""

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
# Of ten requests to an operation so many are as its description has them; the others break it.
_RIGHT = 6
# A stream ends with its job; it has tests of its own.
_STREAMS = frozenset({"job_events_get"})

# What the web server itself says to a request line that is none, before any of ours has seen it.
_UNREADABLE = b"Invalid HTTP request received."

Call = Callable[[Case], Any]


@dataclass
class Tally:
    """What was sent, and what came back that must not."""

    #: By operation (`GET /api/v1/workspaces`), how often each status came.
    operations: dict[str, Counter[int]] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """How many requests were answered."""
        return self.statuses.total()

    @property
    def statuses(self) -> Counter[int]:
        """How often each status came, of all operations together."""
        return sum(self.operations.values(), Counter())

    @property
    def succeeded(self) -> set[str]:
        """The operations that did what they are for, at least once."""
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
    """Send requests to all operations in turn: to each once around, then until `requests` were answered.

    After `limit_s` seconds it ends with fewer.
    """
    tally, deadline = Tally(), time.monotonic() + limit_s
    schema.config.generation.update(with_security_parameters=False)  # `call` says who asks
    operations = sorted((each for each in _operations(schema) if _name(each) not in left_out), key=_turn)
    for number, operation in _around(operations):
        if number and (tally.n >= requests or time.monotonic() > deadline):
            break
        tally.operations.setdefault(_name(operation), Counter())
        for mode, n in ((GenerationMode.POSITIVE, _RIGHT), (GenerationMode.NEGATIVE, 10 - _RIGHT)):
            _send(operation, mode, n, call, pool, tally, seed_number + number)
    return tally


def _around(operations: Collection[Any]) -> Iterator[tuple[int, Any]]:
    """Return the operations again and again, with how often each was given before."""
    return ((number, operation) for number in itertools.count() for operation in operations)


def _operations(schema: Any) -> Iterator[Any]:
    for result in schema.get_all_operations():
        operation = result.ok()
        if operation.definition.raw.get("operationId") not in _STREAMS:
            yield operation


def _name(operation: Any) -> str:
    return f"{operation.method.upper()} {operation.path}"


def _turn(operation: Any) -> tuple[int, int, str]:
    """Lists come first, then there are ids to name; what is deleted goes before what it belongs to."""
    turn = ["get", "post", "put", "patch", "delete"].index(operation.method.lower())
    depth = operation.path.count("/")
    return turn, -depth if operation.method.lower() == "delete" else depth, operation.path


def _send(operation: Any, mode: Any, n: int, call: Call, pool: Pool, tally: Tally, seed_number: int) -> None:
    @seed(seed_number)
    @settings(
        max_examples=n,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case: Case) -> None:
        case.path_parameters = pool.arguments(case.path_parameters or {})
        if isinstance(case.body, dict):
            case.body = pool.fields(_name(operation), case.body)
        else:
            case.query = pool.fields(_name(operation), case.query or {})
        _judge(case, call, pool, tally)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the generator's own remarks about formats
            send()
    except (schemathesis.errors.SchemathesisError, Unsatisfiable):
        # Nothing can be wrong about an operation that takes nothing but ids.
        if mode is not GenerationMode.NEGATIVE:
            raise


def _judge(case: Case, call: Call, pool: Pool, tally: Tally) -> None:
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
            told = f"{response.status_code} {type(failure).__name__}"
            tally.faults.setdefault(f"{name}: {told}", _told(case, failure, response))
    if response.status_code < 300 and "json" in response.headers.get("content-type", [""])[0]:
        pool.note(case.formatted_path, json.loads(response.content))


def _told(case: Case, failure: Any, response: Any) -> str:
    return f"{str(failure)[:800]}\n{case.as_curl_command()[:800]}\n{response.content[:500]!r}"
