"""What `/healthz`, `/readyz` and `/metrics` answer, to whoever serves them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kebab.http.api.errors import Problem
from kebab.http.api.problems import CONTENT_TYPE as PROBLEM_TYPE
from kebab.http.api.problems import problem_document
from kebab.observability.health.scrape import scraper
from kebab.observability.health.stores import Standing, look_at_all
from kebab.observability.metrics.access import is_operator, may_read
from kebab.observability.metrics.exposition import CONTENT_TYPE
from kebab.runtime import draining

_RETRY_AFTER_S = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer."""

    body: bytes
    content_type: str = "application/json"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


_CLOSED: Final = Problem(
    status=401,
    code="metrics_closed",
    detail="From another machine metrics are read with KEBAB_METRICS_TOKEN as a bearer token.",
)

_hindrances: dict[str, Callable[[], bool]] = {"draining": lambda: draining.is_draining()}


def register_hindrance(name: str, is_hindered: Callable[[], bool]) -> None:
    """Have this process not ready, for the reason `name`, while `is_hindered` says so."""
    _hindrances[name] = is_hindered


def healthy() -> Reply:
    """Say that this process answers: it asks nobody, so that no store has it started again."""
    return Reply(body=b'{"status":"ok"}')


def ready() -> Reply:
    """Return whether this process can do its work, with each thing looked at, within two seconds.

    Without Redis it can: searches go on, and uploads are hinted at later.
    """
    checks = {name: each for found in look_at_all().values() for name, each in found.standings.items()}
    checks |= {name: Standing.FAILED for name, is_hindered in _hindrances.items() if is_hindered()}
    failed = [name for name, standing in checks.items() if standing is Standing.FAILED]
    if failed:
        problem = Problem(status=503, code="not_ready", detail=f"Not ready: {', '.join(failed)}.")
        return _refusal(problem, {"Retry-After": str(_RETRY_AFTER_S)}, checks=checks)
    said = "degraded" if Standing.DEGRADED in checks.values() else "ready"
    return Reply(body=json.dumps({"status": said, "checks": checks}).encode())


def measured(peer: str, *, authorization: str, is_forwarded: bool) -> Reply:
    """Return all metrics to who may read them; those of single workspaces to the operator alone."""
    if not may_read(peer, authorization=authorization, is_forwarded=is_forwarded):
        return _refusal(_CLOSED, {"WWW-Authenticate": "Bearer"})
    return Reply(body=scraper().text(is_operator=is_operator(authorization)), content_type=CONTENT_TYPE)


def _refusal(problem: Problem, headers: Mapping[str, str], **more: object) -> Reply:
    return Reply(
        body=json.dumps({**problem_document(problem), **more}).encode(),
        content_type=PROBLEM_TYPE,
        status=problem.status,
        headers=headers,
    )
