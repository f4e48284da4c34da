"""Gates that admit requests to an application within its capacity and refuse the rest."""

import asyncio
import io
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from typing import Any

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, ASGISendEvent, HTTPScope

from kebab.http.admission.fair_queue import ClientGone, FairQueue, Overloaded
from kebab.http.admission.refusals import refuse
from kebab.http.admission.request_bodies import (
    BufferBudget,
    BufferedBody,
    TooLong,
    TooSlow,
    is_short,
    receive_file,
)
from kebab.http.admission.request_patterns import json_field_pattern, query_field_pattern
from kebab.http.admission.wsgi_bridge import (
    BufferedResponse,
    Environ,
    UnreceivedBody,
    WsgiThreads,
    build_environ,
)
from kebab.http.asgi_types import HttpApplication
from kebab.uuids import parse_uuid

_IN_WORKSPACE = re.compile(r"\A/(?:api/v1/workspaces|w)/([^/]+)")
# A search names the change that it waits for in its query string, or in a body sent to one of these paths.
_CHANGE_IN_QUERY, _CHANGE_IN_BODY = query_field_pattern("min_seq"), json_field_pattern("min_seq")
_SEARCHES = re.compile(r"\A/api/v1/workspaces/[^/]+/(?:search|search/bulk|context-pack)\Z")


class Gate:
    """ASGI middleware whose requests take slots of a fair queue by workspace.

    The workspace is taken from the address; the application checks whether it exists and who may use it. All
    addresses without one share a queue; probes must not come here. Bodies are short and are read before the
    request takes a slot.
    """

    def __init__(
        self,
        app: HttpApplication,
        turns: FairQueue,
        *,
        held: BufferBudget | None = None,
        release_on_start: bool = False,
    ) -> None:
        """Take the buffer budget `held` that all gates of a process share.

        With `release_on_start` a slot is released when the response begins.
        """
        self._app = app
        self._turns = turns
        self._held = held or BufferBudget()
        self._releases_on_start = release_on_start

    async def __call__(self, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        """Answer a request, or refuse it."""
        began = time.perf_counter()
        body = BufferedBody(receive, self._held)
        try:
            await body.read()
            if not body.is_disconnected:
                await self._run_in_turn(scope, body.replay, send, body.disconnect)
        except (Overloaded, TooSlow, TooLong) as reason:
            await refuse(scope, send, reason, began)
        except ClientGone:
            return
        finally:
            body.close()

    async def _run_in_turn(
        self,
        scope: HTTPScope,
        receive: ASGIReceiveCallable,
        send: ASGISendCallable,
        disconnect: "Callable[[], asyncio.Future[Any]]",
    ) -> None:
        name = _workspace_of(scope["path"])
        await self._turns.acquire(name, disconnect)
        with ExitStack() as turn:
            turn.callback(self._turns.release, name)
            await self._app(
                scope, receive, _release_on_start(turn, send) if self._releases_on_start else send
            )


class ViewGate:
    """A gate to the WSGI views, by workspace; a slot is released before the response is sent.

    A long body is received only when a view reads it, which it does after authentication: the view is then
    aborted, and called again when the body is complete.
    """

    def __init__(
        self,
        views: WsgiThreads,
        turns: FairQueue,
        *,
        long_bodies: FairQueue,
        searches_that_wait: FairQueue,
        held: BufferBudget,
    ) -> None:
        """Take the queues and the buffer budget.

        `long_bodies` is the queue for receiving long bodies. Searches that may wait in their thread for a
        change take a slot of `searches_that_wait` too.
        """
        self._views = views
        self._turns = turns
        self._long_bodies = long_bodies
        self._searches_that_wait = searches_that_wait
        self._held = held

    async def __call__(self, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        """Answer a request, or refuse it."""
        began = time.perf_counter()
        try:
            answer = await (self._answer_short if is_short(scope) else self._answer_long)(scope, receive)
        except (Overloaded, TooSlow, TooLong) as reason:
            await refuse(scope, send, reason, began)
        except ClientGone:
            return
        else:
            await answer.send_to(send)

    async def _answer_short(self, scope: HTTPScope, receive: ASGIReceiveCallable) -> BufferedResponse:
        body = BufferedBody(receive, self._held)
        try:
            await body.read()
            if body.is_disconnected:
                raise ClientGone
            waiting = self._searches_that_wait if _may_wait(scope, body) else None
            async with (
                _hold_slot(waiting, scope, body.disconnect),
                _hold_slot(self._turns, scope, body.disconnect),
            ):
                return await self._answer(build_environ(scope, io.BytesIO(body.take())))
        finally:
            body.close()

    async def _answer_long(self, scope: HTTPScope, receive: ASGIReceiveCallable) -> BufferedResponse:
        environ = build_environ(scope, UnreceivedBody())
        waiting = self._searches_that_wait if _may_wait(scope, None) else None
        async with _hold_slot(waiting, scope), _hold_slot(self._turns, scope):
            answer = await self._views.answer(environ)
        if answer is not None:
            return answer
        async with _hold_slot(self._long_bodies, scope):
            body, size_bytes = await receive_file(receive)
            with body:
                # The same environment, so that a counted request is not counted again.
                environ |= {"wsgi.input": body, "CONTENT_LENGTH": str(size_bytes)}
                async with _hold_slot(waiting, scope), _hold_slot(self._turns, scope):
                    return await self._answer(environ)

    async def _answer(self, environ: Environ) -> BufferedResponse:
        answer = await self._views.answer(environ)
        assert answer is not None, "the body has been received"  # noqa: S101
        return answer


@asynccontextmanager
async def _hold_slot(
    turns: FairQueue | None, scope: HTTPScope, disconnect: "Callable[[], asyncio.Future[Any]] | None" = None
) -> AsyncIterator[None]:
    """Hold a slot of `turns` for the request's workspace; None: do nothing."""
    if turns is None:
        yield
        return
    name = _workspace_of(scope["path"])
    await turns.acquire(name, disconnect)
    try:
        yield
    finally:
        turns.release(name)


def _may_wait(scope: HTTPScope, body: BufferedBody | None) -> bool:
    """Return whether a request may name a change that its response must include.

    A body that has not been read may name one.
    """
    if _CHANGE_IN_QUERY.search(scope["query_string"]) is not None:
        return True
    return _SEARCHES.match(scope["path"]) is not None and (body is None or body.contains(_CHANGE_IN_BODY))


def _release_on_start(turn: ExitStack, send: ASGISendCallable) -> ASGISendCallable:
    """Return a `send` that releases the slot when the response begins."""

    async def send_and_release(message: ASGISendEvent) -> None:
        if message["type"] == "http.response.start":
            turn.close()
        await send(message)

    return send_and_release


def _workspace_of(path: str) -> str:
    """Return the queue name of a request's workspace: the same for all spellings of its id."""
    found = _IN_WORKSPACE.match(path)
    if found is None:
        return ""
    id_ = parse_uuid(found[1])
    return found[1] if id_ is None else str(id_)
