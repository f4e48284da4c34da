"""Sends made-up requests to every operation of an OpenAPI document and judges the answers by it."""

import json
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
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

from tests.fuzzing.pool import Pool

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

    statuses: Counter[int] = field(default_factory=Counter)
    operations: Counter[str] = field(default_factory=Counter)
    faults: dict[str, str] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """How many requests were answered."""
        return self.statuses.total()


def fuzz(schema: Any, call: Call, pool: Pool, *, requests: int, seed_number: int, limit_s: float) -> Tally:
    """Send about so many requests to all operations in turn, listing first: then there are ids to name."""
    tally, deadline = Tally(), time.monotonic() + limit_s
    operations = sorted(_operations(schema), key=_turn)
    rounds = max(1, requests // (len(operations) * 10))
    for number in range(rounds):
        for operation in operations:
            if time.monotonic() > deadline:
                return tally
            for mode, n in ((GenerationMode.POSITIVE, _RIGHT), (GenerationMode.NEGATIVE, 10 - _RIGHT)):
                _send(operation, mode, n, call, pool, tally, seed_number + number)
    return tally


def _operations(schema: Any) -> Iterable[Any]:
    for result in schema.get_all_operations():
        operation = result.ok()
        if operation.definition.raw.get("operationId") not in _STREAMS:
            yield operation


def _turn(operation: Any) -> tuple[int, str]:
    return ["get", "post", "put", "patch", "delete"].index(operation.method.lower()), operation.path


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
    name = f"{case.operation.method.upper()} {case.operation.path}"
    tally.statuses[response.status_code] += 1
    tally.operations[name] += 1
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
