"""The ASGI application of a web process: MCP and long requests run natively, all others in threads.

Django's synchronous views are two to four times faster over WSGI than through its own ASGI bridge
(docs/decisions). Event streams and generated answers don't run in those threads: a stream would hold one for
as long as a client listens, an answer for as long as the model writes.
"""

import asyncio
import re
import threading
from typing import Any, Final

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope, Scope
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler

from kebab.health import probes
from kebab.health.responses import register_blocker
from kebab.http.admission.balance import WebLoad, close_when_crowded
from kebab.http.admission.fair_queue import Capacity, FairQueue, Usage
from kebab.http.admission.gate import Gate, Shares, ViewGate, query_field_pattern
from kebab.http.admission.refusals import refuse_upgrade
from kebab.http.admission.request_bodies import is_short
from kebab.http.admission.send_timeout import SendTimeout, limit_sending
from kebab.http.admission.watchdog import ConnectionGuard, Peer, Watchdog
from kebab.http.admission.wsgi_bridge import WsgiThreads
from kebab.http.asgi_types import HttpApplication
from kebab.http.handlers import ViewHandler
from kebab.http.request_id import answer_with_request_id
from kebab.observability.shutdown import run_callbacks
from kebab.runtime import draining
from kebab.runtime.connection_limits import REFUSAL_S

_MCP_PATHS = frozenset({"/mcp", "/mcp/"})
_STREAM_PATH = re.compile(r"\A/(?:api/v1/workspaces/[^/]+/(?:jobs/[^/]+/events|ask)|w/[^/]+/ask)\Z")
_WAIT_IN_QUERY = query_field_pattern("wait_for")
_DOCUMENTS = re.compile(r"\A/api/v1/workspaces/[^/]+/documents(?:/|\Z)")
_SOURCE_TEST = re.compile(
    r"\A/(?:api/v1/workspaces/[^/]+/sources/[^/]+/test|w/[^/]+/sources/(?:new|[^/]+/test))\Z"
)
# Each may start a process of half a gigabyte, and takes ten seconds at most.
_TESTS: Final = 3
_PROVIDER = re.compile(r"\A/login/[^/]+(?:/callback)?\Z")


class Application:
    """Routes requests to the applications of a web process, each behind a gate with its own queue."""

    def __init__(self, *, threads: int, streams: int) -> None:
        """Take the number of threads for views, and of streams that may be open at once."""
        self._shares = Shares()
        self._views = ViewHandler()
        # The clients of running requests.
        self._active_peers: set[Peer] = set()
        self._guard = ConnectionGuard(self._active_peers)
        self._load = WebLoad(settings.KEBAB_METRICS_DIR / "web-load")
        # Most searches that may wait for a change are answered at once, but while mirrors are built they may
        # hold their threads for half a minute.
        half, quarter = max(1, threads // 2), max(1, threads // 4)
        self._waiting_searches = FairQueue(Capacity(slots=half, waiting=4 * threads, wait_s=30.0))
        # A bulk computes for up to two seconds: four at once would take the interpreter from all others.
        self._bulks = FairQueue(Capacity(slots=quarter, per_caller=1, waiting=threads, wait_s=10.0))
        self.view_queue, self.view_gate = self._create_view_gate(threads, computes=True)
        # Requests that wait until a document is searchable, or for a foreign server, hold a thread for up to
        # half a minute, hence this gate.
        self.waiting_queue, self.waiting_gate = self._create_view_gate(2 * threads, computes=False)
        self.test_queue, self.test_gate = self._create_view_gate(_TESTS, computes=False, wait_s=12.0)
        # Starting a stream or an answer is an ordinary view, in a thread with a database connection.
        starting = self._queue(slots=2 * threads, waiting=8 * threads, wait_s=5.0, computes=True)
        # Open streams hold no thread, but memory and, from time to time, a connection.
        is_open = FairQueue(Capacity(slots=streams, waiting=0, wait_s=0.0, refusal_s=REFUSAL_S))
        self._mcp = _LazyMcp(self._shares.usage)
        self._mcp_gate = Gate(self._mcp, is_open, self._shares)
        django: HttpApplication = ASGIHandler()  # type: ignore[assignment]  # it names scopes plain dictionaries
        starting_gate = Gate(django, starting, self._shares, release_on_start=True)
        self._stream_gate = Gate(starting_gate, is_open, self._shares)
        queues = {"views": self.view_queue, "waiting": self.waiting_queue, "tests": self.test_queue}
        self.watchdog = Watchdog(queues, self._guard)
        # References to tasks that nobody awaits: the event loop itself keeps only weak ones.
        self._shutdown_tasks: set[asyncio.Future[None]] = set()

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        """Route a request by its path."""
        if scope["type"] == "lifespan":
            await self._handle_lifespan(receive, send)
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
        self._active_peers.add(peer)
        self._load.report(len(self._active_peers))
        limited = limit_sending(send, lambda: self._guard.abandon(peer))
        try:
            await answer_with_request_id(
                self.select(scope), scope, receive, close_when_crowded(limited, self._load)
            )
        except* SendTimeout:  # the client is gone; MCP raises it in a group
            pass
        finally:
            self._active_peers.discard(peer)
            self._load.report(len(self._active_peers))

    def select(self, scope: HTTPScope) -> HttpApplication:
        """Return the application that answers a request."""
        if probes.is_probe(scope):
            return probes.application
        if scope["path"] in _MCP_PATHS:
            return self._mcp_gate
        if takes_long(scope):
            return self._stream_gate
        if scope["method"] == "POST" and _SOURCE_TEST.match(scope["path"]):
            return self.test_gate
        return self.waiting_gate if _waits(scope) else self.view_gate

    def _queue(self, *, slots: int, waiting: int, wait_s: float, computes: bool) -> FairQueue:
        """Return a queue for threads, whose time is charged to the callers."""
        limits = Capacity(slots=slots, waiting=waiting, wait_s=wait_s, computes=computes, refusal_s=REFUSAL_S)
        return FairQueue(limits, self._shares.usage)

    def _create_view_gate(
        self, slots: int, *, computes: bool, wait_s: float = 2.0
    ) -> tuple[FairQueue, ViewGate]:
        """Return a gate to the views, which run in as many threads as its queue has slots, and the queue."""
        queue = self._queue(slots=slots, waiting=4 * slots, wait_s=wait_s, computes=computes)
        threads = WsgiThreads(self._views, threads=slots)  # type: ignore[arg-type]  # Django never calls `write`
        shared = {"searches_that_wait": self._waiting_searches, "bulks": self._bulks}
        return queue, ViewGate(threads, queue, self._shares, **shared)

    async def _handle_lifespan(self, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self.watchdog.start()
                if threading.current_thread() is threading.main_thread():
                    loop = asyncio.get_running_loop()
                    loop.add_signal_handler(draining.END_SIGNAL, self._end_streams)
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                self.watchdog.stop()
                await self._mcp.end()
                await asyncio.to_thread(run_callbacks)
                await send({"type": "lifespan.shutdown.complete"})
                return

    def _end_streams(self) -> None:
        """End event streams of jobs and MCP sessions, which would keep the process from stopping."""
        draining.end_streams()
        self._shutdown_tasks.add(asyncio.ensure_future(self._mcp.end()))


def create_application() -> Application:
    """Return an application as the settings size it, whose stalled queues make this process not ready."""
    application = Application(threads=settings.KEBAB_WEB_THREADS, streams=settings.KEBAB_WEB_STREAMS)
    register_blocker("turns", lambda: application.watchdog.is_stalled)
    return application


def takes_long(scope: HTTPScope) -> bool:
    """Return whether a request goes to a view that runs natively.

    Django reads the body of such a request before authentication: one that is longer than such a view
    accepts, or has no length, goes to the others, which refuse it unread.
    """
    return _STREAM_PATH.match(scope["path"]) is not None and is_short(scope)


def _waits(scope: HTTPScope) -> bool:
    """Return whether a view may wait for a document or an identity provider."""
    if _PROVIDER.match(scope["path"]):
        return True
    return bool(_DOCUMENTS.match(scope["path"]) and _WAIT_IN_QUERY.search(scope["query_string"]))


class _LazyMcp:
    """The application at `/mcp`, created on the first request."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage
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
                self._endpoint = await asyncio.to_thread(_create_mcp_endpoint, self._usage)

    async def end(self) -> None:
        """End running requests; the next request creates the application again."""
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            await endpoint.end()


def _create_mcp_endpoint(usage: Usage) -> Any:
    from kebab.urls import create_mcp_endpoint  # imports every view

    return create_mcp_endpoint(usage)


def _has_header(scope: HTTPScope, wanted: bytes, holding: bytes = b"") -> bool:
    return any(name == wanted and holding in value.lower() for name, value in scope["headers"])
