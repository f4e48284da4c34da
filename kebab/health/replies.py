"""What `/healthz`, `/readyz` and `/metrics` answer, to whoever serves them."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hmac import compare_digest

from django.conf import settings

from kebab import draining
from kebab.api.errors import Problem
from kebab.api.problems import CONTENT_TYPE as PROBLEM_TYPE
from kebab.api.problems import problem_document
from kebab.health.scraping import scraper
from kebab.health.stores import Standing, look_at_all
from kebab.metrics.exposition import CONTENT_TYPE

_RETRY_AFTER_S = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer."""

    body: bytes
    content_type: str = "application/json"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


_hindrances: dict[str, Callable[[], bool]] = {"draining": lambda: draining.is_draining()}


def register_hindrance(name: str, is_hindered: Callable[[], bool]) -> None:
    """Have this process not ready, for the reason `name`, while `is_hindered` says so."""
    _hindrances[name] = is_hindered


def healthy() -> Reply:
    """Say that this process answers: it asks nobody, so that no store has it started again."""
    return Reply(body=b'{"status":"ok"}')


def ready() -> Reply:
    """Say whether this process can do its work, with each thing looked at, within two seconds.

    Without Redis it can: searches go on, and uploads are hinted at later.
    """
    checks = {name: each for found in look_at_all().values() for name, each in found.standings.items()}
    checks |= {name: Standing.FAILED for name, is_hindered in _hindrances.items() if is_hindered()}
    failed = [name for name, standing in checks.items() if standing is Standing.FAILED]
    if failed:
        return _not_ready(failed, checks)
    said = "degraded" if Standing.DEGRADED in checks.values() else "ready"
    return Reply(body=json.dumps({"status": said, "checks": checks}).encode())


def measured(authorization: str) -> Reply:
    """Give all metrics; those of single workspaces to whoever brings the operator's token alone."""
    return Reply(body=scraper().text(is_operator=_is_operator(authorization)), content_type=CONTENT_TYPE)


def _not_ready(failed: Sequence[str], checks: Mapping[str, Standing]) -> Reply:
    problem = Problem(status=503, code="not_ready", detail=f"Not ready: {', '.join(failed)}.")
    return Reply(
        body=json.dumps({**problem_document(problem), "checks": checks}).encode(),
        content_type=PROBLEM_TYPE,
        status=problem.status,
        headers={"Retry-After": str(_RETRY_AFTER_S)},
    )


def _is_operator(authorization: str) -> bool:
    scheme, _, token = authorization.partition(" ")
    expected = settings.KEBAB_METRICS_TOKEN
    is_bearer = bool(expected) and scheme.lower() == "bearer"
    return is_bearer and compare_digest(token.strip().encode(), expected.encode())
