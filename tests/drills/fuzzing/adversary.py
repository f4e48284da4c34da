"""Adversary that sends requests of at most 1 MB to every route, and measures what each costs."""

import heapq
import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from schemathesis import GenerationMode

from tests.drills.fuzzing.cost import Cost, Meter, Sent
from tests.drills.fuzzing.forms import Form, operations_of, page_forms, spoil
from tests.drills.fuzzing.fuzz import collect_cases, listed_operations
from tests.drills.fuzzing.pool import Pool
from tests.security.leaks.routes import routes

#: The longest that a request may take a thread.
LIMIT_S = 3.0
# Another process of the machine may delay a request: the shortest of several counts.
_REPEATS = 3
_CASES = 3
# A refusal names the defect, and doesn't repeat the whole input.
_REFUSAL_BYTES = 20_000
_SLOWEST = 20


@dataclass
class Findings:
    """Counts of the sent requests, the most expensive ones, and those that violate the limits."""

    statuses: Counter[int] = field(default_factory=Counter)
    faults: dict[str, str] = field(default_factory=dict)
    #: The most expensive request of each operation.
    slowest: dict[str, tuple[float, str]] = field(default_factory=dict)
    largest: dict[str, tuple[int, str]] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Return the number of answered requests."""
        return self.statuses.total()

    def add(self, name: str, what: str, sent: Sent, cost: Cost, limit_s: float) -> None:
        """Count a request, and judge its answer."""
        self.statuses[cost.status] += 1
        spent_s = max(cost.processor_s, cost.elapsed_s)
        text = (
            f"{spent_s:.2f} s ({cost.processor_s:.2f} s of processor), {cost.status}, {what}: {sent.preview}"
        )
        self.slowest[name] = max(self.slowest.get(name, (0.0, "")), (spent_s, text))
        self.largest[name] = max(self.largest.get(name, (0, "")), (cost.grown_bytes, text))
        for kind, is_fault in (
            (f"answered {cost.status}", cost.status >= 500),
            ("takes too long", spent_s > limit_s),
            (
                "echoes its input",
                cost.status in range(400, 500)
                and len(cost.body) > _REFUSAL_BYTES
                and b"<html" not in cost.body[:300],
            ),
        ):
            if is_fault:
                place = what.partition(":")[0]
                self.faults.setdefault(f"{name} ({place}): {kind}", f"{text}\n{cost.error[-3_000:]}")

    def report(self) -> dict[str, Any]:
        """Return the findings as JSON-ready values."""
        return {
            "requests": self.n,
            "statuses": dict(sorted(self.statuses.items())),
            "slowest": {
                name: text for name, (_, text) in heapq.nlargest(_SLOWEST, self.slowest.items(), _cost)
            },
            "grown": {
                name: f"{grown / 1e6:.0f} MB: {text}"
                for name, (grown, text) in heapq.nlargest(_SLOWEST, self.largest.items(), _cost)
            },
            "faults": self.faults,
        }


def _cost(item: tuple[str, tuple[float, str]]) -> float:
    return item[1][0]


def attack(
    schema: Any,
    meter: Meter,
    pool: Pool,
    *,
    callers: Callable[[Form], Mapping[str, str]],
    seed_number: int,
    requests: int,
    limit_s: float = math.inf,
) -> Findings:
    """Send adversarial requests to all routes in turn, until `requests` were answered or `limit_s` passed."""
    findings, deadline = Findings(), time.monotonic() + limit_s
    forms = list(_all_forms(schema, meter, pool, callers, seed_number))
    for number in itertools.count():
        if findings.n >= requests or time.monotonic() > deadline:
            return findings
        source = Random(f"{seed_number}-{number}")
        form = source.choice(forms[number % len(forms)])
        what, spoilt = spoil(replace(form, headers=callers(form)), source)
        sent = spoilt.encode()
        findings.add(form.name, what, sent, _measure(meter, sent), LIMIT_S)
    return findings


def _measure(meter: Meter, sent: Sent) -> Cost:
    """Return the cost of a request; one that waits long is repeated, and its shortest time counts."""
    cost = meter.send(sent)
    for _ in range(_REPEATS - 1):
        if cost.elapsed_s <= LIMIT_S or cost.processor_s > LIMIT_S:
            break
        again = meter.send(sent)
        cost = min(cost, again, key=lambda each: each.elapsed_s)
    return cost


def _all_forms(
    schema: Any, meter: Meter, pool: Pool, callers: Callable[[Form], Mapping[str, str]], seed_number: int
) -> Iterator[list[Form]]:
    """Yield the valid requests of each operation of the API, and of each page."""
    for operation in listed_operations(schema):
        cases = collect_cases(operation, GenerationMode.POSITIVE, _CASES, seed_number)
        yield list(operations_of(operation, cases, pool, schema.raw_schema))

    def read(target: str) -> str:
        form = Form(name="GET page", method="GET", path=target, arguments={})
        return meter.send(
            Sent(method="GET", target=target, headers=list(callers(form).items()))
        ).body.decode()

    known = {
        name: pool.known(name, "1")
        for name in sorted({each for route in routes() for each in route.arguments})
    }
    yield from ([form] for form in page_forms({**known, "slug": pool.known("ws", "1")}, read))
