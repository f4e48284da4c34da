"""MCP over HTTP: who may in, and what all responses say. Each request stands by itself, in any process."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from io import BytesIO
from typing import Final

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from rest_framework.exceptions import NotAuthenticated

from kebab.http.api.authentication import TokenAuthentication
from kebab.http.api.errors import Forbidden, Problem
from kebab.http.api.problems import logged_problem, respond
from kebab.http.rate_limits.client_address import client_network
from kebab.http.rate_limits.rules import count_request
from kebab.http.security_headers import response_headers
from kebab.observability.metrics.requests import count_answer
from kebab.people.access.caller import Access, Caller, token_access
from kebab.tenancy.current_workspace import acting_nowhere
from search.mcp.cancellation import given_up, name_of_call
from search.mcp.fair_threads import Lane, Lanes
from search.mcp.handshake import Message, Receive, given_up_by, new_session, session_of
from search.mcp.server import Context, mcp_server
from search.mcp.threads import in_thread

#: What counts of requests call the address.
ROUTE: Final = "mcp"
_ACCESS: Final = "kebab.access"
_BODY_LIMIT_BYTES: Final = 1_000_000

Send = Callable[[Message], Awaitable[None]]


class McpEndpoint:
    """The ASGI application at `/mcp`.

    It keeps no sessions: the web process is one of several, and the next request may meet another one.
    """

    def __init__(self) -> None:
        lane_of = partial(_lane_of, Lanes())
        self._manager = StreamableHTTPSessionManager(
            mcp_server(_admitted, _name_of, lane_of),
            stateless=True,
            max_request_body_size=_BODY_LIMIT_BYTES,
        )
        self._running: asyncio.Task[None] | None = None
        self._has_started = asyncio.Event()
        self._is_ended = asyncio.Event()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request of somebody whose token is good now."""
        request = ASGIRequest(scope, BytesIO())
        answering = _Answering(request, send)
        try:
            scope[_ACCESS] = await in_thread(lambda: admit_request(request))
        except Exception as error:  # noqa: BLE001 - the edge of a request: told, and logged where it is ours
            problem = logged_problem(error, f"{request.method} /mcp")
            await _send_response(respond(problem), answering.send)
            return
        if request.method != "POST":
            await _send_response(_only_posts(), answering.send)
            return
        await self._start()
        await self._manager.handle_request(scope, await _heard(request, scope, receive), answering.send)

    async def end(self) -> None:
        """End what is still being answered."""
        self._is_ended.set()
        if self._running is not None:
            await self._running

    async def _start(self) -> None:
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        await self._has_started.wait()

    async def _run(self) -> None:
        async with self._manager.run():
            self._has_started.set()
            await self._is_ended.wait()


async def _heard(request: HttpRequest, scope: Message, receive: Receive) -> Receive:
    """Note the call that a request gives up, and give its body to read."""
    session = session_of(request.headers)
    if session is None:
        return receive
    call, receive = await given_up_by(request.headers, receive)
    if call is not None:
        name = name_of_call(scope[_ACCESS].identity, session, call)
        await in_thread(lambda: given_up().note(name))
    return receive


def _admitted(context: Context) -> Access:
    access: Access = context.request.scope[_ACCESS]
    return access


def _name_of(context: Context) -> str | None:
    """Return the name of a call that may be given up by another request."""
    session = session_of(context.request.headers)
    if session is None:
        return None
    return name_of_call(_admitted(context).identity, session, context.request_id)


def _lane_of(lanes: Lanes, context: Context, is_long: bool) -> Lane:
    return lanes.of(_admitted(context).workspace.pk, is_long=is_long)


def admit_request(request: HttpRequest) -> Access:
    """Return the access of the token that a request came with, and count it.

    Raises AuthenticationFailed, NotAuthenticated, RateLimited, and what is told to who comes by a wrong name.
    """
    _check_names(request)
    with acting_nowhere():
        try:
            found = TokenAuthentication().authenticate(request)  # type: ignore[arg-type]
            if found is None:
                count_request(request, f"address:{client_network(request)}")
                raise NotAuthenticated("Send a token: Authorization: Bearer kbb_…")
        except Exception as error:
            error.auth_header = TokenAuthentication().authenticate_header(request)  # type: ignore[attr-defined, arg-type]
            raise
        caller = Caller(token=found[1])
        count_request(request, caller.identity)
        return token_access(caller, found[1])


def _check_names(request: HttpRequest) -> None:
    """Refuse names that the site isn't served under, and pages of other sites.

    https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning
    """
    own = f"{request.scheme}://{request.get_host()}"
    origin = request.headers.get("Origin", own)
    if origin != own and origin not in settings.CSRF_TRUSTED_ORIGINS:
        raise Forbidden("This page's origin is not one of KEBAB_TRUSTED_ORIGINS.", code="origin_not_trusted")


def _only_posts() -> HttpResponse:
    detail = "Send each message by POST; there are no sessions to end, and no streams to listen to."
    headers = {"Allow": "POST"}
    return respond(Problem(status=405, code="method_not_allowed", detail=detail, headers=headers))


class _Answering:
    """Sends a response with the headers that all have, and counts it."""

    def __init__(self, request: HttpRequest, send: Send) -> None:
        self._request = request
        self._send = send
        self._began = time.perf_counter()

    async def send(self, message: Message) -> None:
        """Send a part of the response."""
        if message["type"] == "http.response.start":
            given = {name.lower() for name, _ in message["headers"]}
            added = [
                (name.lower().encode(), value.encode())
                for name, value in self._headers().items()
                if name.lower().encode() not in given
            ]
            message = {**message, "headers": [*message["headers"], *added]}
            count_answer(str(self._request.method), ROUTE, message["status"], self._began)
        await self._send(message)

    def _headers(self) -> dict[str, str]:
        return response_headers(self._request.path) | new_session(self._request.headers)


async def _send_response(response: HttpResponse, send: Send) -> None:
    headers = [(name.lower().encode(), value.encode()) for name, value in response.items()]
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": response.content, "more_body": False})
