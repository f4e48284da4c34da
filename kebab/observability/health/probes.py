"""`/healthz`, `/readyz` and `/metrics` beside all other requests: they wait for none of their threads.

A probe that waits for a thread would have a process killed that has much to do; one that waits for a store,
all of them as soon as that is away.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, Final

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPResponseStartEvent, HTTPScope

from kebab.http.security_headers import response_headers
from kebab.observability.health.responses import Reply, healthy, measured, ready

_ASKED: Final = {"/readyz": lambda scope: ready(), "/metrics": lambda scope: _measured(scope)}
PATHS: Final = frozenset({"/healthz", *_ASKED})
_METHODS: Final = frozenset({"GET", "HEAD"})


def is_probe(scope: HTTPScope) -> bool:
    """Return whether a request is answered here; other methods are the URL table's to refuse."""
    return scope["path"] in PATHS and scope["method"] in _METHODS


def is_health_check(scope: HTTPScope) -> bool:
    """Return whether a request only asks whether this process answers."""
    return scope["path"] == "/healthz" and scope["method"] in _METHODS


async def application(scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Answer a probe."""
    asked: Callable[[Any], Reply] | None = _ASKED.get(scope["path"])
    if asked is None:
        start, body = _healthy()
    else:
        reply = await asyncio.get_running_loop().run_in_executor(_threads(), asked, scope)
        start, body = _beginning(scope["path"], reply), reply.body
    await send(start)
    sent = b"" if scope["method"] == "HEAD" else body
    await send({"type": "http.response.body", "body": sent, "more_body": False})


@cache
def _healthy() -> tuple[HTTPResponseStartEvent, bytes]:
    """Return what is always the same: nothing is asked more often."""
    reply = healthy()
    return _beginning("/healthz", reply), reply.body


def _beginning(path: str, reply: Reply) -> HTTPResponseStartEvent:
    headers = {
        "Content-Type": reply.content_type,
        "Content-Length": str(len(reply.body)),
        **response_headers(path),
        **reply.headers,
    }
    written = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http.response.start", "status": reply.status, "headers": written, "trailers": False}


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(4, thread_name_prefix="probe")


def _measured(scope: HTTPScope) -> Reply:
    headers = dict(scope["headers"])
    return measured(
        scope["client"][0] if scope["client"] else "",
        authorization=headers.get(b"authorization", b"").decode("latin-1"),
        is_forwarded=b"x-forwarded-for" in headers,
    )
