"""Sends hostile requests, and records their outcomes."""

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import httpx

from tests.drills.hostile.attempt import Attempt
from tests.drills.hostile.endpoints import ENDPOINTS, Ground
from tests.drills.hostile.judge import Judge

_MORE_S = {endpoint.name: endpoint.more_s for endpoint in ENDPOINTS}
_SLOWEST = 10
_SHOWN_CHARS = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of one request."""

    number: int
    #: The request, with shortened address and body: ten thousand whole ones take half a gigabyte.
    attempt: Attempt
    #: Of the original address and body.
    size_bytes: int
    #: 0: no answer.
    status: int
    elapsed_s: float
    #: The defect of the answer; '' when it is right.
    fault: str = ""


@dataclass(slots=True)
class Tally:
    """All outcomes so far."""

    limit_s: float
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def n(self) -> int:
        """Return the number of outcomes."""
        return len(self.outcomes)

    @property
    def faults(self) -> list[Outcome]:
        """Return the wrong outcomes."""
        return [outcome for outcome in self.outcomes if outcome.fault]

    @property
    def statuses(self) -> Counter[int]:
        """Return the number of each status."""
        return Counter(outcome.status for outcome in self.outcomes)

    def document(self) -> dict[str, Any]:
        """Return the report as JSON-ready values."""
        slowest = sorted(self.outcomes, key=lambda each: -each.elapsed_s)[:_SLOWEST]
        endpoints = sorted({outcome.attempt.endpoint for outcome in self.outcomes})
        by_endpoint = {
            name: _summary([each for each in self.outcomes if each.attempt.endpoint == name])
            for name in endpoints
        }
        return {
            "limit_s": self.limit_s,
            **_summary(self.outcomes),
            "endpoints": by_endpoint,
            "slowest": [_as_json(outcome) for outcome in slowest],
            "faults": [_as_json(outcome) for outcome in self.faults],
        }


def survey(http: httpx.Client, workspace: str, words: list[str]) -> Ground:
    """Return the ids and names of a workspace with documents."""
    api = f"/api/v1/workspaces/{workspace}"

    def first(path: str, name: str) -> dict[str, Any]:
        return http.get(f"{api}{path}").raise_for_status().json()[name][0]

    source, hit = first("/sources", "results"), first(f"/search?q={words[0]}", "hits")
    more = http.get(f"{api}/search?q={words[0]}&k=1").raise_for_status().json()
    return Ground(
        workspace=workspace,
        words=words,
        library_id=source["library_id"],
        source_id=source["id"],
        doc_id=hit["doc_id"],
        chunk_id=hit["chunk_id"],
        cursors=[more["next_cursor"]] if more["next_cursor"] else [],
    )


def ask_all(http: httpx.Client, attempts: Iterable[Attempt], judge: Judge, *, limit_s: float) -> Tally:
    """Send the requests one after another; a wrong or late answer is a fault."""
    tally = Tally(limit_s=limit_s)
    for number, attempt in enumerate(attempts):
        tally.outcomes.append(_ask(http, number, attempt, judge, limit_s + _MORE_S[attempt.endpoint]))
    return tally


def _ask(http: httpx.Client, number: int, attempt: Attempt, judge: Judge, limit_s: float) -> Outcome:
    status, fault = 0, ""
    began = time.perf_counter()
    try:
        answer = http.send(_request(http, attempt))
    except httpx.HTTPError as error:
        elapsed_s = time.perf_counter() - began
        fault = repr(error)
    else:
        elapsed_s = time.perf_counter() - began
        status, fault = answer.status_code, judge.fault(attempt, answer)
    return Outcome(
        number=number,
        attempt=_shorten(attempt),
        size_bytes=len(attempt.target) + len(attempt.body or b""),
        status=status,
        elapsed_s=elapsed_s,
        fault=fault or ("late" if elapsed_s > limit_s else ""),
    )


def _shorten(attempt: Attempt) -> Attempt:
    headers = tuple((name, ascii(value[:_SHOWN_CHARS])) for name, value in attempt.headers)
    body = None if attempt.body is None else attempt.body[:_SHOWN_CHARS]
    return replace(attempt, target=attempt.target[:_SHOWN_CHARS], body=body, headers=headers)


def _request(http: httpx.Client, attempt: Attempt) -> httpx.Request:
    headers = [(name, value.encode("latin-1")) for name, value in attempt.headers]
    # As the target, so that the address is neither normalised nor escaped again.
    extensions = {"target": attempt.target.encode()}
    request = http.build_request(
        attempt.method, "/", content=attempt.body, headers=headers, extensions=extensions
    )
    if not attempt.is_signed and "Authorization" not in dict(attempt.headers):
        del request.headers["Authorization"]
    if attempt.body:  # the server may close a connection whose body it did not read (RFC 9112, section 9.3)
        request.headers["Connection"] = "close"
    return request


def _summary(outcomes: list[Outcome]) -> dict[str, Any]:
    times = sorted(outcome.elapsed_s * 1000 for outcome in outcomes)
    statuses = Counter(outcome.status for outcome in outcomes)
    return {
        "n": len(times),
        "statuses": dict(sorted(statuses.items())),
        "p50_ms": round(times[len(times) // 2], 1),
        "p99_ms": round(times[int(len(times) * 0.99)], 1),
        "max_ms": round(times[-1], 1),
    }


def _as_json(outcome: Outcome) -> dict[str, Any]:
    attempt = outcome.attempt
    return {
        "number": outcome.number,
        "kind": attempt.kind,
        "endpoint": attempt.endpoint,
        "method": attempt.method,
        "status": outcome.status,
        "ms": round(outcome.elapsed_s * 1000, 1),
        "fault": outcome.fault,
        "bytes": outcome.size_bytes,
        "target": attempt.target,
        "headers": attempt.headers,
        "body": ascii((attempt.body or b"").decode("utf-8", "replace")),
    }
