"""Lets requests in to an application that answers a few at once, and refuses what there is no room for."""

import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from typing import Any

from a2wsgi.asgi_typing import ASGIApp, Receive, Scope, Send, SendEvent

from kebab.admission.bodies import HeldBody, HeldBytes, LongBody, TooSlow, is_short
from kebab.admission.refusals import refuse
from kebab.admission.spellings import in_json, in_query
from kebab.admission.turns import Gone, Refused, Turns
from kebab.uuids import as_uuid

_IN_WORKSPACE = re.compile(r"\A/(?:api/v1/workspaces|w)/([^/]+)")
# How a search names the change that it waits for: in its address, or in a body of one of these.
_CHANGE_IN_QUERY, _CHANGE_IN_BODY = in_query("min_seq"), in_json("min_seq")
_SEARCHES = re.compile(r"\A/api/v1/workspaces/[^/]+/(?:search|search/bulk|context-pack)\Z")


class Gate:
    """An ASGI application before another, whose requests take turns by workspace.

    A workspace is what the address says: whether there is one, and for whom, is the views' to find out. All
    addresses without one take turns as one workspace does; probes must not come here.
    """

    def __init__(
        self,
        app: ASGIApp,
        turns: Turns,
        long_bodies: Turns | None = None,
        searches_that_wait: Turns | None = None,
        *,
        held: HeldBytes | None = None,
        until_begun: bool = False,
    ) -> None:
        """`long_bodies` are turns that requests with one take besides; None: there are none of their own.

        So are `searches_that_wait`, for those that are to show a change, and may wait for it in their thread.
        `held` is what all gates of a process hold. `until_begun`: a turn ends when the answer begins.
        """
        self._app = app
        self._turns = turns
        self._long_bodies = long_bodies
        self._searches_that_wait = searches_that_wait
        self._held = held or HeldBytes()
        self._until_begun = until_begun

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        began = time.perf_counter()
        try:
            await self._answer(scope, receive, send)
        except (Refused, TooSlow) as reason:
            await refuse(scope, send, reason, began)
        except Gone:
            return

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_short(scope):
            await self._with_body_read(scope, receive, send)
            return
        besides = self._searches_that_wait if _may_wait(scope, None) else None
        async with _turn_of(self._long_bodies, scope), _turn_of(besides, scope):
            await self._with_long_body(scope, receive, send)

    async def _with_body_read(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = HeldBody(receive, self._held)
        try:
            await body.read()
            if body.is_left:
                return
            besides = self._searches_that_wait if _may_wait(scope, body) else None
            async with _turn_of(besides, scope, body.leaving):
                await self._in_turn(scope, body.again, send, body)
        finally:
            body.let_go()

    async def _with_long_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = LongBody(receive, send)
        try:
            await self._in_turn(scope, body.receive, body.send, None)
        except Exception:
            if not body.is_silent:
                raise
        if body.is_silent:
            raise TooSlow

    async def _in_turn(self, scope: Scope, receive: Receive, send: Send, body: HeldBody | None) -> None:
        name = _workspace_of(scope["path"])
        await self._turns.take(name, None if body is None else body.leaving)
        with ExitStack() as turn:
            turn.callback(self._turns.give_back, name)
            await self._app(scope, receive, _leaving(turn, send) if self._until_begun else send)


@asynccontextmanager
async def _turn_of(
    turns: Turns | None, scope: Scope, leaving: Callable[[], Awaitable[Any]] | None = None
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


def _may_wait(scope: Scope, body: HeldBody | None) -> bool:
    """Whether a request names a change that its answer is to show; a body that nobody has read may, too."""
    if _CHANGE_IN_QUERY.search(scope["query_string"]) is not None:
        return True
    return _SEARCHES.match(scope["path"]) is not None and (body is None or body.has(_CHANGE_IN_BODY))


def _leaving(turn: ExitStack, send: Send) -> Send:
    """Give `send` as it is, but that a turn ends when the answer begins."""

    async def send_on(message: SendEvent) -> None:
        if message["type"] == "http.response.start":
            turn.close()
        await send(message)

    return send_on


def _workspace_of(path: str) -> str:
    """Give the name under which a workspace takes turns: one for all ways to write its id."""
    found = _IN_WORKSPACE.match(path)
    if found is None:
        return ""
    id_ = as_uuid(found[1])
    return found[1] if id_ is None else str(id_)
