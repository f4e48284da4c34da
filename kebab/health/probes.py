"""ASGI probes `/healthz`, `/readyz` and `/metrics`, which don't wait for the threads of other requests.

If a probe waited for a thread, a busy process would be killed; if it waited for a store, an outage of that
store would kill all processes.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, Final

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPResponseStartEvent, HTTPScope

from kebab.health.responses import Reply, health_reply, metrics_reply, readiness_reply
from kebab.http.security_headers import response_headers

_HANDLERS: Final = {
    "/readyz": lambda scope: readiness_reply(),
    "/metrics": lambda scope: _metrics_reply(scope),
}
PATHS: Final = frozenset({"/healthz", *_HANDLERS})
_METHODS: Final = frozenset({"GET", "HEAD"})


def is_probe(scope: HTTPScope) -> bool:
    """Return whether a request is answered here; Django's views refuse other methods."""
    return scope["path"] in PATHS and scope["method"] in _METHODS


def is_health_check(scope: HTTPScope) -> bool:
    """Return whether a request is a liveness check."""
    return scope["path"] == "/healthz" and scope["method"] in _METHODS


async def application(scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Answer a probe."""
    handler: Callable[[Any], Reply] | None = _HANDLERS.get(scope["path"])
    if handler is None:
        start, body = _health_response()
    else:
        reply = await asyncio.get_running_loop().run_in_executor(_threads(), handler, scope)
        start, body = _response_start(scope["path"], reply), reply.body
    await send(start)
    sent = b"" if scope["method"] == "HEAD" else body
    await send({"type": "http.response.body", "body": sent, "more_body": False})


@cache
def _health_response() -> tuple[HTTPResponseStartEvent, bytes]:
    """Return the constant response of the most frequent probe."""
    reply = health_reply()
    return _response_start("/healthz", reply), reply.body


def _response_start(path: str, reply: Reply) -> HTTPResponseStartEvent:
    headers = {
        "Content-Type": reply.content_type,
        "Content-Length": str(len(reply.body)),
        **response_headers(path),
        **reply.headers,
    }
    encoded = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http.response.start", "status": reply.status, "headers": encoded, "trailers": False}


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(4, thread_name_prefix="probe")


def _metrics_reply(scope: HTTPScope) -> Reply:
    headers = dict(scope["headers"])
    return metrics_reply(
        scope["client"][0] if scope["client"] else "",
        authorization=headers.get(b"authorization", b"").decode("latin-1"),
        is_forwarded=b"x-forwarded-for" in headers,
    )
