"""Responses to refused requests, made cheaply, as the process is busy already."""

import json
import time
from typing import Final

from asgiref.typing import ASGISendCallable, HTTPScope, WebSocketScope

from kebab.http.admission.fair_queue import Overloaded
from kebab.http.admission.request_bodies import TooLong, TooSlow
from kebab.http.api.errors import Problem
from kebab.http.api.problems import CONTENT_TYPE, problem_document
from kebab.observability.metrics.refusals import count_problem
from kebab.observability.metrics.requests import count_response

_RETRY_AFTER_S: Final = "1"
_OWN = Problem(
    status=429,
    code="workspace_busy",
    detail="This workspace asks for more at once than its share; send less at once, and this again.",
)
_ALL = Problem(
    status=503, code="overloaded", detail="More is asked at once than can be answered; send it again."
)
_SLOW = Problem(status=408, code="request_timeout", detail="The request's body didn't come in time.")
_LONG = Problem(status=413, code="too_large", detail="The request's body is larger than any that is taken.")
_UPGRADE = Problem(
    status=400, code="no_upgrade", detail="Kebab answers HTTP alone; send the request without Upgrade."
)
_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    "<title>Busy</title><h1>Busy</h1><p>{detail}</p></html>"
)


async def refuse(
    scope: HTTPScope, send: ASGISendCallable, reason: Overloaded | TooSlow | TooLong, began: float
) -> None:
    """Refuse a request for `reason`; `began` is its start by `time.perf_counter`."""
    await _send_problem(scope, send, count_refusal(reason), began)


async def refuse_upgrade(scope: HTTPScope | WebSocketScope, send: ASGISendCallable) -> None:
    """Refuse a WebSocket handshake; Kebab has no WebSocket endpoint."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1000, "reason": None})
        return
    count_problem(_UPGRADE.status, _UPGRADE.code)
    await _send_problem(scope, send, _UPGRADE, time.perf_counter())


async def _send_problem(scope: HTTPScope, send: ASGISendCallable, problem: Problem, began: float) -> None:
    is_page = not scope["path"].startswith(("/api/", "/mcp"))
    text = _PAGE.format(detail=problem.detail) if is_page else json.dumps(problem_document(problem))
    kind = "text/html; charset=utf-8" if is_page else CONTENT_TYPE
    headers = {
        "content-type": kind,
        "content-length": str(len(text.encode())),
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "content-security-policy": "default-src 'none'",
        **({"retry-after": _RETRY_AFTER_S} if problem in (_OWN, _ALL) else {}),
    }
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    count_response(scope["method"], "none", problem.status, began)
    await send(
        {"type": "http.response.start", "status": problem.status, "headers": encoded, "trailers": False}
    )
    await send({"type": "http.response.body", "body": text.encode(), "more_body": False})


def count_refusal(reason: Overloaded | TooSlow | TooLong) -> Problem:
    """Count a refusal and return its problem."""
    problem = _problem_of(reason)
    count_problem(problem.status, problem.code)
    return problem


def _problem_of(reason: Overloaded | TooSlow | TooLong) -> Problem:
    if isinstance(reason, TooSlow):
        return _SLOW
    if isinstance(reason, TooLong):
        return _LONG
    return _OWN if reason.is_workspace_busy else _ALL
