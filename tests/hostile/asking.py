"""Sends hostile requests and judges the answers."""

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import httpx
from jsonschema import ValidationError

from tests.acceptance import schemas
from tests.hostile.attempts import SCHEMAS, Attempt

#: Answers that a hostile request may have: hits, a refusal, a stale cursor, too long, an address too long.
ALLOWED = frozenset({200, 400, 410, 413, 414, 431})
# Validating the hits of one page takes milliseconds, of a thousand seconds.
_VALIDATED_BYTES = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one request."""

    number: int
    attempt: Attempt
    status: int
    elapsed_s: float
    #: Why it should have been answered otherwise; '' when the answer is right.
    fault: str = ""


@dataclass(slots=True)
class Tally:
    """All outcomes so far."""

    limit_s: float
    n: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    faults: list[Outcome] = field(default_factory=list)
    slowest: list[Outcome] = field(default_factory=list)
    elapsed_s: list[float] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        """Count one outcome."""
        self.n += 1
        self.statuses[outcome.status] += 1
        self.elapsed_s.append(outcome.elapsed_s)
        if outcome.fault:
            self.faults.append(outcome)
        self.slowest = sorted([*self.slowest, outcome], key=lambda each: -each.elapsed_s)[:10]

    def document(self) -> dict[str, Any]:
        """Give the report as JSON-ready values."""
        times = sorted(self.elapsed_s)
        return {
            "n": self.n,
            "limit_s": self.limit_s,
            "statuses": dict(sorted(self.statuses.items())),
            "p50_ms": round(times[len(times) // 2] * 1000, 1),
            "p99_ms": round(times[int(len(times) * 0.99)] * 1000, 1),
            "slowest": [_told(outcome) for outcome in self.slowest],
            "faults": [_told(outcome) for outcome in self.faults],
        }


def library_of(http: httpx.Client, workspace: str) -> str:
    """Give the id of the workspace's first library."""
    sources = http.get(f"/workspaces/{workspace}/sources").raise_for_status().json()["results"]
    return str(sources[0]["library_id"])


def ask_all(http: httpx.Client, workspace: str, requests: Iterable[Attempt], *, limit_s: float) -> Tally:
    """Send the requests one after another; a wrong answer, or one later than `limit_s`, is a fault."""
    tally = Tally(limit_s=limit_s)
    for number, attempt in enumerate(requests):
        tally.add(_ask(http, workspace, number, attempt, limit_s))
    return tally


def _ask(http: httpx.Client, workspace: str, number: int, attempt: Attempt, limit_s: float) -> Outcome:
    began = time.perf_counter()
    try:
        answer = http.request(
            attempt.method,
            f"/workspaces/{workspace}{attempt.door}{attempt.parameters}",
            content=attempt.body,
            headers={} if attempt.body is None else {"Content-Type": "application/json"},
        )
    except httpx.HTTPError as error:
        elapsed_s = time.perf_counter() - began
        return Outcome(number=number, attempt=attempt, status=0, elapsed_s=elapsed_s, fault=repr(error))
    elapsed_s = time.perf_counter() - began
    fault = _fault(answer, attempt) or ("late" if elapsed_s > limit_s else "")
    return Outcome(
        number=number, attempt=attempt, status=answer.status_code, elapsed_s=elapsed_s, fault=fault
    )


def _fault(answer: httpx.Response, attempt: Attempt) -> str:
    if answer.status_code not in ALLOWED:
        return f"{answer.status_code}: {answer.text[:300]}"
    if "json" not in answer.headers.get("content-type", ""):
        return "" if answer.status_code >= 400 else "not JSON"
    if len(answer.content) <= _VALIDATED_BYTES:
        name = SCHEMAS[attempt.door] if answer.status_code == 200 else "problem.v1"
        try:
            schemas.check(answer.json(), name)
        except ValidationError as error:
            return f"not as its schema says: {error.message[:300]}"
    return ""


def _told(outcome: Outcome) -> dict[str, Any]:
    attempt = outcome.attempt
    sent = attempt.parameters if attempt.body is None else attempt.body.decode("utf-8", "replace")
    return {
        "number": outcome.number,
        "kind": attempt.kind,
        "door": attempt.door,
        "status": outcome.status,
        "ms": round(outcome.elapsed_s * 1000, 1),
        "fault": outcome.fault,
        "bytes": len(sent),
        "sent": ascii(sent[:160]),
    }
