"""Adversary that sends requests of at most 1 MB to every route, and measures what each costs."""

import heapq
import itertools
import math
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from schemathesis import GenerationMode

from tests.drills.fuzzing.cost import CLOSED, Cost, Meter, Sent
from tests.drills.fuzzing.forms import Form, spoil
from tests.drills.fuzzing.fuzz import collect_cases, listed_operations
from tests.drills.fuzzing.operations import file_forms, mcp_forms, operations_of, page_forms
from tests.drills.fuzzing.pool import Pool
from tests.drills.fuzzing.stage import CANARY
from tests.security.leaks.routes import routes

#: The longest that a request may take a thread.
LIMIT_S = 3.0
# Another process of the machine may delay a request: the shortest of several counts.
_REPEATS = 3
_CASES = 3
# A refusal names the defect, and doesn't repeat the whole input.
_REFUSAL_CHARS = 20_000
_SLOWEST = 40
_SHARES = (0.5, 0.9, 0.99, 0.999, 1.0)
# Such a request waits for a document or a foreign server, in a thread for requests that wait.
_WAITS = re.compile(r"wait_for|min_seq|/test\b|/sources/new|/login/")
_CANARY = CANARY.encode()


@dataclass
class Findings:
    """Counts of the sent requests, the most expensive ones, and those that violate the limits."""

    #: The longest wait for an answer.
    wait_limit_s: float = LIMIT_S
    #: Number of each status by operation.
    operations: dict[str, Counter[int]] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    #: The request of each operation that took most processor time, and that which took most memory.
    slowest: dict[str, tuple[float, str]] = field(default_factory=dict)
    largest: dict[str, tuple[int, str]] = field(default_factory=dict)
    #: Number of the requests.
    n: int = 0
    #: Processor time of each request.
    seconds: list[float] = field(default_factory=list)

    @property
    def statuses(self) -> Counter[int]:
        """Return the number of each status over all operations."""
        return sum(self.operations.values(), Counter())

    def add(self, name: str, what: str, sent: Sent, cost: Cost) -> None:
        """Count a request, and judge its answer."""
        self.operations.setdefault(name, Counter())[cost.status] += 1
        self.n += 1
        text = (
            f"{cost.processor_s:.2f} s of processor in {cost.elapsed_s:.2f} s, {cost.status}, {what}:"
            f" {sent.preview}"
        )
        self.slowest[name] = max(self.slowest.get(name, (0.0, "")), (cost.processor_s, text))
        self.largest[name] = max(self.largest.get(name, (0, "")), (cost.grown_bytes, text))
        self.seconds.append(cost.processor_s)
        for kind in self._faults_of(sent, cost):
            fault = f"{name} ({what.partition(':')[0]}): {kind}"
            if fault not in self.faults:
                self.faults[fault] = f"{text}\n{cost.error[-3_000:]}"
                sys.stderr.write(f"{fault}\n{self.faults[fault]}\n")

    def _faults_of(self, sent: Sent, cost: Cost) -> Iterator[str]:
        # The rest of a body that isn't read may reset the connection before the answer is read.
        if cost.status >= 500 or (cost.status == CLOSED and not sent.pieces):
            yield f"answered {cost.status}"
        if cost.processor_s > LIMIT_S:
            yield "takes too long"
        if cost.elapsed_s > self.wait_limit_s and not _WAITS.search(sent.target):
            yield "waits too long"
        if 400 <= cost.status < 500 and _length(cost.body) > _REFUSAL_CHARS:
            yield "echoes its input"
        if _CANARY in cost.body:
            yield "shows what is hidden"

    def report(self) -> dict[str, Any]:
        """Return the findings as JSON-ready values."""
        ordered = sorted(self.seconds) or [0.0]
        return {
            "requests": self.n,
            "statuses": dict(sorted(self.statuses.items())),
            "operations": {
                name: dict(sorted(each.items())) for name, each in sorted(self.operations.items())
            },
            "processor_s": {share: ordered[int(share * (len(ordered) - 1))] for share in _SHARES},
            "slowest": {
                name: text for name, (_, text) in heapq.nlargest(_SLOWEST, self.slowest.items(), _cost)
            },
            "grown": {
                name: f"{grown / 1e6:.0f} MB: {text}"
                for name, (grown, text) in heapq.nlargest(_SLOWEST, self.largest.items(), _cost)
            },
            "faults": self.faults,
        }


def _length(body: bytes) -> int:
    """Return the number of characters of a refusal; 0 for a page, which has a frame."""
    if b"<html" in body[:300]:
        return 0
    # JSON escapes an emoji by twelve characters.
    return len(re.sub(rb"(?:\\u[0-9a-f]{4}){1,2}", b"x", body))


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
    wait_limit_s: float = LIMIT_S,
) -> Findings:
    """Send adversarial requests to all routes in turn, until `requests` were answered or `limit_s` passed."""
    findings, deadline = Findings(wait_limit_s=wait_limit_s), time.monotonic() + limit_s
    forms = list(_all_forms(schema, meter, pool, callers, seed_number))
    for number in itertools.count():
        if findings.n >= requests or time.monotonic() > deadline:
            return findings
        source = Random(f"{seed_number}-{number}")
        form = source.choice(forms[number % len(forms)])
        what, spoilt = spoil(replace(form, headers={**form.headers, **callers(form)}), source)
        sent = spoilt.encode()
        findings.add(form.name, what, sent, _measure(meter, sent, wait_limit_s))
    return findings


def _measure(meter: Meter, sent: Sent, wait_limit_s: float) -> Cost:
    """Return the cost of a request; one that waits long is repeated, and its shortest time counts."""
    cost = meter.send(sent)
    for _ in range(_REPEATS - 1):
        if cost.elapsed_s <= wait_limit_s or cost.processor_s > LIMIT_S or _WAITS.search(sent.target):
            break
        again = meter.send(sent)
        cost = min(cost, again, key=lambda each: each.elapsed_s)
    return cost


def _all_forms(
    schema: Any, meter: Meter, pool: Pool, callers: Callable[[Form], Mapping[str, str]], seed_number: int
) -> Iterator[list[Form]]:
    """Yield the valid requests of each operation of the API, each tool of MCP, and each page."""
    for operation in listed_operations(schema):
        cases = collect_cases(operation, GenerationMode.POSITIVE, _CASES, seed_number)
        yield list(operations_of(operation, cases, pool, schema.raw_schema))
    yield from ([form] for form in file_forms(pool.find("ws", "")))
    yield from mcp_forms(pool)

    def read(target: str) -> str:
        form = Form(name="GET page", method="GET", path=target)
        sent = Sent(method="GET", target=target, headers=list(callers(form).items()))
        return meter.send(sent).body.decode()

    names = sorted({each for route in routes() for each in route.arguments})
    known = {name: pool.find(name, "1") for name in names}
    yield from ([form] for form in page_forms({**known, "slug": pool.find("ws", "1")}, read))
