"""`/healthz`, `/readyz` and `/metrics` beside all other requests: they wait for none of their threads.

A probe that waits for a thread would have a process killed that has much to do; one that waits for a store,
all of them as soon as that is away.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, Final

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope

from kebab.headers import response_headers
from kebab.health.replies import Reply, healthy, measured, ready

_ASKED: Final = {"/readyz": lambda scope: ready(), "/metrics": lambda scope: _measured(scope)}
PATHS: Final = frozenset({"/healthz", *_ASKED})
_METHODS: Final = frozenset({"GET", "HEAD"})


def is_probe(scope: HTTPScope) -> bool:
    """Whether a request is answered here; other methods are the URL table's to refuse."""
    return scope["path"] in PATHS and scope["method"] in _METHODS


async def application(scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Answer a probe."""
    asked: Callable[[Any], Reply] | None = _ASKED.get(scope["path"])
    if asked is None:
        reply = healthy()
    else:
        reply = await asyncio.get_running_loop().run_in_executor(_threads(), asked, scope)
    headers = {
        "Content-Type": reply.content_type,
        "Content-Length": str(len(reply.body)),
        **response_headers(scope["path"]),
        **reply.headers,
    }
    written = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": written})
    body = b"" if scope["method"] == "HEAD" else reply.body
    await send({"type": "http.response.body", "body": body, "more_body": False})


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
