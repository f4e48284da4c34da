"""Lets requests in to an application that answers a few at once, and refuses what there is no room for."""

import io
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from typing import Any

from asgiref.typing import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, ASGISendEvent, HTTPScope

from kebab.http.admission.fair_queue import Gone, Refused, Turns
from kebab.http.admission.refusals import refuse
from kebab.http.admission.request_bodies import HeldBody, HeldBytes, TooLong, TooSlow, is_short, receive_file
from kebab.http.admission.request_patterns import in_json, in_query
from kebab.http.admission.wsgi_bridge import Answer, Environ, UnreceivedBody, Views, environ_of
from kebab.uuids import as_uuid

_IN_WORKSPACE = re.compile(r"\A/(?:api/v1/workspaces|w)/([^/]+)")
# How a search names the change that it waits for: in its address, or in a body of one of these.
_CHANGE_IN_QUERY, _CHANGE_IN_BODY = in_query("min_seq"), in_json("min_seq")
_SEARCHES = re.compile(r"\A/api/v1/workspaces/[^/]+/(?:search|search/bulk|context-pack)\Z")


class Gate:
    """An ASGI application before another, whose requests take turns by workspace.

    A workspace is what the address says: whether there is one, and for whom, is the application's to find
    out. All addresses without one take turns as one workspace does; probes must not come here. A body is
    there before the turn begins, and is a short one.
    """

    def __init__(
        self,
        app: ASGI3Application,
        turns: Turns,
        *,
        held: HeldBytes | None = None,
        until_begun: bool = False,
    ) -> None:
        """`held` is what all gates of a process hold. `until_begun`: a turn ends when the answer begins."""
        self._app = app
        self._turns = turns
        self._held = held or HeldBytes()
        self._until_begun = until_begun

    async def __call__(self, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        """Answer a request, or refuse it."""
        began = time.perf_counter()
        body = HeldBody(receive, self._held)
        try:
            await body.read()
            if not body.is_left:
                await self._in_turn(scope, body.again, send, body.leaving)
        except (Refused, TooSlow, TooLong) as reason:
            await refuse(scope, send, reason, began)
        except Gone:
            return
        finally:
            body.let_go()

    async def _in_turn(
        self,
        scope: HTTPScope,
        receive: ASGIReceiveCallable,
        send: ASGISendCallable,
        leaving: Callable[[], Awaitable[Any]],
    ) -> None:
        name = _workspace_of(scope["path"])
        await self._turns.take(name, leaving)
        with ExitStack() as turn:
            turn.callback(self._turns.give_back, name)
            await self._app(scope, receive, _leaving(turn, send) if self._until_begun else send)


class GateOfViews:
    """Has views answer in turn, by workspace; a turn ends before the answer is sent.

    A long body is not received before a view reads it, who first looks who sends it: then the view is left,
    and asked again when all of it is there.
    """

    def __init__(
        self,
        views: Views,
        turns: Turns,
        *,
        long_bodies: Turns,
        searches_that_wait: Turns,
        held: HeldBytes,
    ) -> None:
        """`long_bodies` are turns of those that are received.

        `searches_that_wait` are turns that those take besides which may wait in their thread for a change.
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
            answer = await (self._of_short if is_short(scope) else self._of_long)(scope, receive)
        except (Refused, TooSlow, TooLong) as reason:
            await refuse(scope, send, reason, began)
        except Gone:
            return
        else:
            await answer.send_by(send)

    async def _of_short(self, scope: HTTPScope, receive: ASGIReceiveCallable) -> Answer:
        body = HeldBody(receive, self._held)
        try:
            await body.read()
            if body.is_left:
                raise Gone
            besides = self._searches_that_wait if _may_wait(scope, body) else None
            async with _turn(besides, scope, body.leaving), _turn(self._turns, scope, body.leaving):
                return await self._answer(environ_of(scope, io.BytesIO(body.taken())))
        finally:
            body.let_go()

    async def _of_long(self, scope: HTTPScope, receive: ASGIReceiveCallable) -> Answer:
        environ = environ_of(scope, UnreceivedBody())
        besides = self._searches_that_wait if _may_wait(scope, None) else None
        async with _turn(besides, scope), _turn(self._turns, scope):
            answer = await self._views.answer(environ)
        if answer is not None:
            return answer
        async with _turn(self._long_bodies, scope):
            body, size_bytes = await receive_file(receive)
            with body:
                # The same environment, so that a request that has been counted stays so.
                environ |= {"wsgi.input": body, "CONTENT_LENGTH": str(size_bytes)}
                async with _turn(besides, scope), _turn(self._turns, scope):
                    return await self._answer(environ)

    async def _answer(self, environ: Environ) -> Answer:
        answer = await self._views.answer(environ)
        assert answer is not None, "the body has been received"  # noqa: S101
        return answer


@asynccontextmanager
async def _turn(
    turns: Turns | None, scope: HTTPScope, leaving: Callable[[], Awaitable[Any]] | None = None
) -> AsyncIterator[None]:
    """Hold a turn of the request's workspace; None: there is none to be had."""
    if turns is None:
        yield
        return
    name = _workspace_of(scope["path"])
    await turns.take(name, leaving)
    try:
        yield
    finally:
        turns.give_back(name)


def _may_wait(scope: HTTPScope, body: HeldBody | None) -> bool:
    """Return whether a request names a change that its answer is to show; a body that nobody has read may,
    too.
    """
    if _CHANGE_IN_QUERY.search(scope["query_string"]) is not None:
        return True
    return _SEARCHES.match(scope["path"]) is not None and (body is None or body.has(_CHANGE_IN_BODY))


def _leaving(turn: ExitStack, send: ASGISendCallable) -> ASGISendCallable:
    """Return `send` as it is, but that a turn ends when the answer begins."""

    async def send_on(message: ASGISendEvent) -> None:
        if message["type"] == "http.response.start":
            turn.close()
        await send(message)

    return send_on


def _workspace_of(path: str) -> str:
    """Return the name under which a workspace takes turns: one for all ways to write its id."""
    found = _IN_WORKSPACE.match(path)
    if found is None:
        return ""
    id_ = as_uuid(found[1])
    return found[1] if id_ is None else str(id_)
