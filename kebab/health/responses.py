"""The replies of `/healthz`, `/readyz` and `/metrics`, for ASGI probes and Django views."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kebab.errors import Problem
from kebab.health.metrics_access import is_operator, may_read
from kebab.health.scrape import StoreStatus, probe_stores, scraper
from kebab.http.api.outages import READ_ONLY
from kebab.http.api.problems import CONTENT_TYPE as PROBLEM_TYPE
from kebab.http.api.problems import problem_document
from kebab.observability.metrics.exposition import CONTENT_TYPE
from kebab.runtime import draining

_RETRY_AFTER_S = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A reply of a probe."""

    body: bytes
    content_type: str = "application/json"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


_CLOSED: Final = Problem(
    status=401,
    code="metrics_closed",
    detail="From another machine metrics are read with KEBAB_METRICS_TOKEN as a bearer token.",
)

_blockers: dict[str, Callable[[], bool]] = {"draining": lambda: draining.is_draining()}


def register_blocker(name: str, is_blocked: Callable[[], bool]) -> None:
    """Register a reason `name` for which this process is not ready while `is_blocked` returns True."""
    _blockers[name] = is_blocked


def health_reply() -> Reply:
    """Return the liveness reply. It queries no store, so that no store's outage restarts the process."""
    return Reply(body=b'{"status":"ok"}')


def readiness_reply() -> Reply:
    """Return the readiness reply, with the status of each check, within two seconds.

    Without Redis the process is ready: searches work, and hints for uploads are sent later.
    """
    checks = {name: each for found in probe_stores().values() for name, each in found.statuses.items()}
    checks |= {name: StoreStatus.FAILED for name, is_blocked in _blockers.items() if is_blocked()}
    failed = [name for name, store_status in checks.items() if store_status is StoreStatus.FAILED]
    if failed:
        problem = Problem(status=503, code="not_ready", detail=f"Not ready: {', '.join(failed)}.")
        return _refusal(problem, {"Retry-After": str(_RETRY_AFTER_S)}, checks=checks)
    overall = "degraded" if StoreStatus.DEGRADED in checks.values() else "ready"
    remedy = {"detail": READ_ONLY} if checks.get("writes") is StoreStatus.DEGRADED else {}
    return Reply(body=json.dumps({"status": overall, "checks": checks, **remedy}).encode())


def metrics_reply(peer: str, *, authorization: str, is_forwarded: bool) -> Reply:
    """Return all metrics to a permitted client; per-workspace series only to the operator."""
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
