"""The ASGI application: MCP and long requests run natively, all others over WSGI in threads, on one port.

Django's synchronous views are two to four times faster over WSGI than through its own ASGI bridge
(docs/decisions). Event streams and generated answers don't run in those threads: a stream would hold one for
as long as a client listens, an answer for as long as the model writes.
"""

import asyncio
import os
import re
import threading
from typing import Any

from asgiref.typing import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, HTTPScope, Scope
from django.conf import settings
from django.core.asgi import get_asgi_application

from kebab.runtime import draining
from kebab.runtime.lifeline import tie_to_spawner
from kebab.runtime.malloc import limit_malloc_arenas
from kebab.runtime.shutdown import run_callbacks

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kebab.settings")
limit_malloc_arenas()
tie_to_spawner()
draining.begin_on_signal()
_streams = get_asgi_application()

from kebab.http.admission.connections import ConnectionGuard, Peer  # noqa: E402
from kebab.http.admission.fair_queue import Capacity, FairQueue  # noqa: E402
from kebab.http.admission.gate import Gate, ViewGate  # noqa: E402
from kebab.http.admission.refusals import refuse_upgrade  # noqa: E402
from kebab.http.admission.request_bodies import BufferBudget, is_short  # noqa: E402
from kebab.http.admission.request_patterns import query_field_pattern  # noqa: E402
from kebab.http.admission.send_timeout import SendTimeout, limit_sending  # noqa: E402
from kebab.http.admission.watchdog import Watchdog  # noqa: E402
from kebab.http.admission.wsgi_bridge import WsgiThreads  # noqa: E402
from kebab.http.request_id import answer_with_request_id  # noqa: E402
from kebab.observability import tracing  # noqa: E402  # Django is set up first
from kebab.observability.health import probes  # noqa: E402
from kebab.observability.health.responses import register_blocker  # noqa: E402
from kebab.observability.metrics.store import begin_process  # noqa: E402
from kebab.wsgi import application as _wsgi  # noqa: E402

begin_process("web")
tracing.begin()

_MCP_PATHS = frozenset({"/mcp", "/mcp/"})
_STREAM_PATH = re.compile(r"\A/(?:api/v1/workspaces/[^/]+/(?:jobs/[^/]+/events|ask)|w/[^/]+/ask)\Z")
_WAIT_IN_QUERY = query_field_pattern("wait_for")
_THREADS = settings.KEBAB_WEB_THREADS
_held_bytes = BufferBudget()


def _create_view_gate(slots: int) -> tuple[ViewGate, FairQueue]:
    """Return a gate to the views, which run in threads, and the fair queue that assigns the threads."""
    capacity = Capacity(slots=slots, waiting=4 * slots, wait_s=2.0)
    long_bodies = Capacity(slots=max(1, slots // 2), waiting=2 * slots, wait_s=30.0)
    # Most are answered at once, but while mirrors are built they may hold their threads for half a minute.
    # They don't use the threads of waiting uploads, where clients that read their writes would be refused.
    waiting = Capacity(slots=max(1, slots // 2), waiting=4 * slots, wait_s=30.0)
    turns = FairQueue(capacity)
    gate = ViewGate(
        WsgiThreads(_wsgi, threads=slots),
        turns,
        long_bodies=FairQueue(long_bodies),
        searches_that_wait=FairQueue(waiting),
        held=_held_bytes,
    )
    return gate, turns


# Requests that wait until a document is searchable hold a thread for up to half a minute, hence this gate.
(_view_gate, _view_queue), (_waiting_upload_gate, _waiting_upload_queue) = (
    _create_view_gate(_THREADS),
    _create_view_gate(2 * _THREADS),
)
# Starting a stream or an answer is an ordinary view, in a thread with a database connection.
_STARTING_STREAMS = FairQueue(Capacity(slots=2 * _THREADS, waiting=8 * _THREADS, wait_s=5.0))
# Open streams hold no thread, but memory and, from time to time, a connection.
_OPEN_STREAMS = FairQueue(Capacity(slots=settings.KEBAB_WEB_STREAMS, waiting=0, wait_s=0.0))


class _LazyMcp:
    """The application at `/mcp`, created on the first request."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._endpoint: Any = None

    async def __call__(self, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        """Handle a request."""
        if self._endpoint is None:
            await self._create()
        await self._endpoint(scope, receive, send)

    async def _create(self) -> None:
        async with self._lock:
            if self._endpoint is None:
                self._endpoint = await asyncio.to_thread(_create_mcp_endpoint)

    async def end(self) -> None:
        """End running requests; the next request creates the application again."""
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            await endpoint.end()


def _create_mcp_endpoint() -> Any:
    from kebab.urls import create_mcp_endpoint  # imports every view

    return create_mcp_endpoint()


_mcp = _LazyMcp()
_mcp_gate = Gate(_mcp, _OPEN_STREAMS, held=_held_bytes)
_stream_gate = Gate(
    Gate(_streams, _STARTING_STREAMS, held=_held_bytes, release_on_start=True),
    _OPEN_STREAMS,
    held=_held_bytes,
)


def takes_long(scope: HTTPScope) -> bool:
    """Return whether a request goes to a view that runs natively.

    Django reads the body of such a request before authentication: one that is longer than such a view
    accepts, or has no length, goes to the others, which refuse it unread.
    """
    return _STREAM_PATH.match(scope["path"]) is not None and is_short(scope)


# The clients of running requests.
_active_peers: set[Peer] = set()
_guard = ConnectionGuard(_active_peers)
_watch = Watchdog({"views": _view_queue, "waiting uploads": _waiting_upload_queue}, _guard)
register_blocker("turns", lambda: _watch.is_stalled)


async def application(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Route a request by its path."""
    if scope["type"] == "lifespan":
        await _handle_lifespan(receive, send)
        return
    if scope["type"] == "websocket" or _has_header(scope, b"upgrade", b"websocket"):
        await refuse_upgrade(scope, send)
        return
    if probes.is_health_check(scope) and not _has_header(scope, b"x-request-id"):
        # The most frequent request, with nothing to log or to limit.
        await probes.application(scope, receive, send)
        return
    host, port = scope.get("client") or ("", 0)
    peer = host, int(port or 0)
    _active_peers.add(peer)
    try:
        await answer_with_request_id(
            _select_app(scope), scope, receive, limit_sending(send, lambda: _guard.abandon(peer))
        )
    except* SendTimeout:  # the client is gone; MCP raises it in a group
        pass
    finally:
        _active_peers.discard(peer)


def _has_header(scope: HTTPScope, wanted: bytes, holding: bytes = b"") -> bool:
    return any(name == wanted and holding in value.lower() for name, value in scope["headers"])


def _select_app(scope: HTTPScope) -> ASGI3Application:
    if probes.is_probe(scope):
        return probes.application
    if scope["path"] in _MCP_PATHS:
        return _mcp_gate
    if takes_long(scope):
        return _stream_gate
    return _view_gate if _WAIT_IN_QUERY.search(scope["query_string"]) is None else _waiting_upload_gate


async def _handle_lifespan(receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            _watch.start()
            if threading.current_thread() is threading.main_thread():
                asyncio.get_running_loop().add_signal_handler(draining.END_SIGNAL, _end_streams)
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            _watch.stop()
            await _mcp.end()
            await asyncio.to_thread(run_callbacks)
            await send({"type": "lifespan.shutdown.complete"})
            return


# References to tasks that nobody awaits: the event loop itself keeps only weak ones.
_shutdown_tasks: set["asyncio.Future[None]"] = set()


def _end_streams() -> None:
    """End event streams of jobs and MCP sessions, which would keep the process from stopping."""
    draining.end_streams()
    _shutdown_tasks.add(asyncio.ensure_future(_mcp.end()))
