"""The ASGI application: MCP and what takes long run natively, all else over WSGI in threads, on one port.

Django's synchronous views are two to four times faster over WSGI than through its own ASGI bridge
(docs/decisions); a stream would hold one of their threads for as long as someone listens, an answer for as
long as a model writes, so they don't get one.
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
from kebab.runtime.malloc import share_arenas
from kebab.runtime.shutdown import end
from kebab.stack.supervisor.lifeline import tie_to_spawner

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kebab.settings")
share_arenas()
tie_to_spawner()
draining.begin_on_signal()
_streams = get_asgi_application()

from kebab.http.admission.connections import ConnectionGuard, Peer  # noqa: E402
from kebab.http.admission.fair_queue import Room, Turns  # noqa: E402
from kebab.http.admission.gate import Gate, GateOfViews  # noqa: E402
from kebab.http.admission.refusals import refuse_upgrade  # noqa: E402
from kebab.http.admission.request_bodies import HeldBytes, is_short  # noqa: E402
from kebab.http.admission.request_patterns import in_query  # noqa: E402
from kebab.http.admission.send_timeout import SendTimeout, limit_sending  # noqa: E402
from kebab.http.admission.watchdog import Watch  # noqa: E402
from kebab.http.admission.wsgi_bridge import Views  # noqa: E402
from kebab.http.request_id import answer_identified  # noqa: E402
from kebab.observability import tracing  # noqa: E402  # Django is set up first
from kebab.observability.health import probes  # noqa: E402
from kebab.observability.health.responses import register_hindrance  # noqa: E402
from kebab.observability.metrics.store import begin  # noqa: E402
from kebab.wsgi import application as _wsgi  # noqa: E402

begin("web")
tracing.begin()

_MCP_PATHS = frozenset({"/mcp", "/mcp/"})
_STREAM_PATH = re.compile(r"\A/(?:api/v1/workspaces/[^/]+/(?:jobs/[^/]+/events|ask)|w/[^/]+/ask)\Z")
_WAIT_IN_QUERY = in_query("wait_for")
_THREADS = settings.KEBAB_WEB_THREADS
_held = HeldBytes()


def _views(slots: int) -> tuple[GateOfViews, Turns]:
    """Return the views, each request in a thread of its own, and the turns that the threads are lent by."""
    room = Room(slots=slots, waiting=4 * slots, wait_s=2.0)
    long_bodies = Room(slots=max(1, slots // 2), waiting=2 * slots, wait_s=30.0)
    # Most are answered at once, but while mirrors are made they may hold their threads for half a minute. Nor
    # do they go to the threads of waiting uploads, which would refuse who reads what it wrote.
    waiting = Room(slots=max(1, slots // 2), waiting=4 * slots, wait_s=30.0)
    turns = Turns(room)
    gate = GateOfViews(
        Views(_wsgi, threads=slots),
        turns,
        long_bodies=Turns(long_bodies),
        searches_that_wait=Turns(waiting),
        held=_held,
    )
    return gate, turns


# Who waits for a document to be searchable sleeps in a thread for up to half a minute: beside the others.
(_answering, _answering_turns), (_awaiting, _awaiting_turns) = _views(_THREADS), _views(2 * _THREADS)
# What begins a stream or an answer is a view like any, in a thread with a connection.
_BEGINNING = Turns(Room(slots=2 * _THREADS, waiting=8 * _THREADS, wait_s=5.0))
# Streams that have begun hold no thread, but memory and, now and then, a connection.
_LASTING = Turns(Room(slots=settings.KEBAB_WEB_STREAMS, waiting=0, wait_s=0.0))


class _Mcp:
    """The application at `/mcp`, made when it is first asked."""

    def __init__(self) -> None:
        self._making = asyncio.Lock()
        self._endpoint: Any = None

    async def __call__(self, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        """Answer a request."""
        if self._endpoint is None:
            await self._make()
        await self._endpoint(scope, receive, send)

    async def _make(self) -> None:
        async with self._making:
            if self._endpoint is None:
                self._endpoint = await asyncio.to_thread(_mcp_endpoint)

    async def end(self) -> None:
        """End what it is still answering; it can begin anew."""
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            await endpoint.end()


def _mcp_endpoint() -> Any:
    from kebab.urls import mcp_endpoint  # it imports every view

    return mcp_endpoint()


_mcp = _Mcp()
_lasting_mcp = Gate(_mcp, _LASTING, held=_held)
_lasting_streams = Gate(Gate(_streams, _BEGINNING, held=_held, until_begun=True), _LASTING, held=_held)


def takes_long(scope: HTTPScope) -> bool:
    """Return whether a request goes to a view that runs natively.

    Django reads the body of such a request before anybody has looked who sends it: one that is longer than
    such a view takes, or has no length, goes to the others, which refuse it unread.
    """
    return _STREAM_PATH.match(scope["path"]) is not None and is_short(scope)


# Clients whose requests are being answered.
_under_way: set[Peer] = set()
_guard = ConnectionGuard(_under_way)
_watch = Watch({"views": _answering_turns, "waiting uploads": _awaiting_turns}, _guard)
register_hindrance("turns", lambda: _watch.is_stalled)


async def application(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Route a request by its path."""
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
        return
    if scope["type"] == "websocket" or _has_header(scope, b"upgrade", b"websocket"):
        await refuse_upgrade(scope, send)
        return
    if probes.is_health_check(scope) and not _has_header(scope, b"x-request-id"):
        # It is asked most often, and there is nothing to log or to limit.
        await probes.application(scope, receive, send)
        return
    host, port = scope.get("client") or ("", 0)
    peer = host, int(port or 0)
    _under_way.add(peer)
    try:
        await answer_identified(
            _app_of(scope), scope, receive, limit_sending(send, lambda: _guard.give_up(peer))
        )
    except* SendTimeout:  # nobody is left to be told; MCP raises it in a group
        pass
    finally:
        _under_way.discard(peer)


def _has_header(scope: HTTPScope, wanted: bytes, holding: bytes = b"") -> bool:
    return any(name == wanted and holding in value.lower() for name, value in scope["headers"])


def _app_of(scope: HTTPScope) -> ASGI3Application:
    if probes.is_probe(scope):
        return probes.application
    if scope["path"] in _MCP_PATHS:
        return _lasting_mcp
    if takes_long(scope):
        return _lasting_streams
    return _answering if _WAIT_IN_QUERY.search(scope["query_string"]) is None else _awaiting


async def _lifespan(receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
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
            await asyncio.to_thread(end)
            await send({"type": "lifespan.shutdown.complete"})
            return


# Tasks that nobody awaits are kept, or the loop could forget them.
_ending: set["asyncio.Future[None]"] = set()


def _end_streams() -> None:
    """End event streams of jobs and MCP sessions, which would keep the process from stopping."""
    draining.end_streams()
    _ending.add(asyncio.ensure_future(_mcp.end()))
