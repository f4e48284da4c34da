"""Responses to refused requests, made cheaply, as the process is busy already."""

import json
import time
from collections.abc import Mapping
from typing import Final

from asgiref.typing import ASGISendCallable, HTTPScope, WebSocketScope

from kebab.errors import Problem
from kebab.http.admission.fair_queue import Overloaded
from kebab.http.admission.request_bodies import BodyRefused, NoSpace, TooLong, TooSlow
from kebab.http.api.problems import CONTENT_TYPE, problem_document
from kebab.observability.metrics.refusals import count_problem
from kebab.observability.metrics.requests import count_response
from kebab.runtime.connection_limits import REFUSAL_S

_SOON: Final = {"retry-after": f"{REFUSAL_S:.0f}"}
_OWN = Problem(
    status=429,
    code="workspace_busy",
    detail="More is asked at once by you, for this workspace or from this address than its share; "
    "wait for some of the answers, and send this again.",
    headers=_SOON,
)
_ALL = Problem(
    status=503,
    code="overloaded",
    detail="More is asked at once than can be answered; send it again.",
    headers=_SOON,
)
_SLOW = Problem(status=408, code="request_timeout", detail="The request's body didn't come in time.")
_LONG = Problem(status=413, code="too_large", detail="The request's body is larger than any that is taken.")
_FULL = Problem(
    status=503,
    code="storage_full",
    detail="The server can't store anything at the moment.",
    headers={"retry-after": "60"},
)
_UPGRADE = Problem(
    status=400, code="no_upgrade", detail="Kebab speaks only HTTP; send the request without Upgrade."
)
_OF_BODIES: Mapping[type[BodyRefused], Problem] = {TooSlow: _SLOW, TooLong: _LONG, NoSpace: _FULL}
_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    "<title>Busy</title><h1>Busy</h1><p>{detail}</p></html>"
)


async def refuse(
    scope: HTTPScope, send: ASGISendCallable, reason: Overloaded | BodyRefused, began: float
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
        **problem.headers,
    }
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    count_response(scope["method"], "none", problem.status, began)
    await send(
        {"type": "http.response.start", "status": problem.status, "headers": encoded, "trailers": False}
    )
    await send({"type": "http.response.body", "body": text.encode(), "more_body": False})


def count_refusal(reason: Overloaded | BodyRefused) -> Problem:
    """Count a refusal and return its problem."""
    problem = _problem_of(reason)
    count_problem(problem.status, problem.code)
    return problem


def _problem_of(reason: Overloaded | BodyRefused) -> Problem:
    if isinstance(reason, Overloaded):
        return _OWN if reason.is_caller_busy else _ALL
    return _OF_BODIES[type(reason)]
