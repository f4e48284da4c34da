"""MCP over HTTP: authentication and common headers. Requests are independent, and any process serves them.

For protocol versions with a handshake, the server stores no sessions: the client sends the name with each
request, which tells its calls from those of other clients with the same token.
"""

import asyncio
import json
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from functools import partial
from io import BytesIO
from typing import Any, Final

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse
from mcp.server.streamable_http import check_accept_headers
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from rest_framework.exceptions import NotAuthenticated

from kebab.errors import Forbidden, Problem
from kebab.http.admission.fair_queue import Usage
from kebab.http.admission.request_bodies import parse_content_length
from kebab.http.api.authentication import TokenAuthentication
from kebab.http.api.problems import log_problem, respond
from kebab.http.rate_limits.client_address import client_network
from kebab.http.rate_limits.rules import count_request
from kebab.http.security_headers import response_headers
from kebab.identity.caller import Access, caller_of_token
from kebab.identity.operator_token import Operator
from kebab.identity.request_record import record_caller
from kebab.observability.metrics.requests import count_response
from kebab.people.oauth.server import METADATA_PATH, SCOPES, requested_resource, requested_site
from kebab.tenancy.current_workspace import acting_nowhere
from search.mcp.call_context import caller_accesses_or_refuse
from search.mcp.cancellation import call_key, cancelled_calls
from search.mcp.server import Context, mcp_server
from search.mcp.threads import Lane, Lanes, run_in_thread


class McpAuthentication(TokenAuthentication):
    """Authentication by a bearer token, which tells a client without one how to get it."""

    def resource_of(self, request: Any) -> str:
        """Return the address of MCP, which the tokens of OAuth clients are bound to."""
        return requested_resource(request)

    def authenticate_header(self, request: Any) -> str:
        """Return the challenge, with the address of the metadata (RFC 9728, 5.1)."""
        site = requested_site(request)
        challenge = super().authenticate_header(request)
        return f'{challenge}, resource_metadata="{site}{METADATA_PATH}", scope="{" ".join(SCOPES)}"'


SESSION_HEADER: Final = "Mcp-Session-Id"
_VERSION_HEADER: Final = "MCP-Protocol-Version"
# A cancellation is not longer; its reason is a sentence.
_MAX_CANCELLATION_BYTES: Final = 10_000

#: Values by case-insensitive name.
Headers = Mapping[str, str]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]


def has_handshake(headers: Headers) -> bool:
    """Return whether a request uses a version with a handshake, which is also the default."""
    return headers.get(_VERSION_HEADER, HANDSHAKE_PROTOCOL_VERSIONS[0]) in HANDSHAKE_PROTOCOL_VERSIONS


def session_of(headers: Headers) -> str | None:
    """Return the session name that a request sends; None if it has none."""
    return headers.get(SESSION_HEADER) if has_handshake(headers) else None


def new_session(headers: Headers) -> dict[str, str]:
    """Return the header with a new session name for a client that has none yet."""
    is_new = has_handshake(headers) and SESSION_HEADER not in headers
    return {SESSION_HEADER: secrets.token_hex(16)} if is_new else {}


async def read_cancelled_id(headers: Headers, receive: Receive) -> tuple[object, Receive]:
    """Return the id of the call that a request cancels, or None, and the body to read again."""
    size_bytes = parse_content_length(headers.get("Content-Length", ""))
    if size_bytes is None or size_bytes > _MAX_CANCELLATION_BYTES:
        return None, receive
    message = await receive()
    body = bytearray(message.get("body", b""))
    while message.get("more_body"):
        message = await receive()
        body += message.get("body", b"")
    return _parse_cancelled_id(bytes(body)), _replay_body(bytes(body), receive)


def _parse_cancelled_id(body: bytes) -> object:
    try:
        message = json.loads(body)
        is_one = message["method"] == "notifications/cancelled"
        return message["params"]["requestId"] if is_one else None
    except (ValueError, LookupError, TypeError, RecursionError):
        return None  # an invalid message is refused later, by the message parser


def _replay_body(body: bytes, receive: Receive) -> Receive:
    whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return whole.pop() if whole else await receive()

    return receive_again


#: The route's label in request metrics.
ROUTE: Final = "mcp"
_ACCESSES: Final = "kebab.accesses"
_BODY_LIMIT_BYTES: Final = 1_000_000

Send = Callable[[Message], Awaitable[None]]


class McpEndpoint:
    """The ASGI application at `/mcp`.

    It stores no sessions: the next request may reach another web process.
    """

    def __init__(self, usage: Usage | None = None) -> None:
        """Take the use of threads that the calls are charged to."""
        lane_of = partial(_lane_of, Lanes(usage))
        server = mcp_server(_request_accesses, _request_call_key, lane_of, _request_site)
        options: Any = {"stateless": True, "max_request_body_size": _BODY_LIMIT_BYTES}
        self._streaming = StreamableHTTPSessionManager(server, **options)
        # For clients that accept no event stream; they get no progress.
        self._plain = StreamableHTTPSessionManager(server, json_response=True, **options)
        self._running: asyncio.Task[None] | None = None
        self._has_started = asyncio.Event()
        self._is_ended = asyncio.Event()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request with a valid token."""
        request = ASGIRequest(scope, BytesIO())
        sender = _ResponseSender(request, send)
        try:
            scope[_ACCESSES] = await run_in_thread(lambda: admit_request(request))
        except Exception as error:  # noqa: BLE001 - request edge: reported to the client, and logged if it is a defect
            problem = log_problem(error, f"{request.method} /mcp")
            await _send_response(respond(problem), sender.send)
            return
        if request.method != "POST":
            await _send_response(_method_not_allowed(), sender.send)
            return
        await self._start()
        _, takes_streams = check_accept_headers(request)  # type: ignore[arg-type]  # it reads the headers alone
        manager = self._streaming if takes_streams else self._plain
        await manager.handle_request(scope, await _record_cancellation(request, scope, receive), sender.send)

    async def end(self) -> None:
        """End the calls that are still running."""
        self._is_ended.set()
        if self._running is not None:
            await self._running

    async def _start(self) -> None:
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        await self._has_started.wait()

    async def _run(self) -> None:
        async with self._streaming.run(), self._plain.run():
            self._has_started.set()
            await self._is_ended.wait()


async def _record_cancellation(request: HttpRequest, scope: Message, receive: Receive) -> Receive:
    """Record the call that a request cancels, if any, and return its body to read again."""
    session = session_of(request.headers)
    if session is None:
        return receive
    call, receive = await read_cancelled_id(request.headers, receive)
    if call is not None:
        name = call_key(scope[_ACCESSES][0].identity, session, call)
        await run_in_thread(lambda: cancelled_calls().cancel(name))
    return receive


def _http_request(context: Context) -> Any:
    if context.request is None:
        raise ValueError("This message did not come over HTTP.")
    return context.request


def _request_accesses(context: Context) -> Sequence[Access]:
    accesses: Sequence[Access] = _http_request(context).scope[_ACCESSES]
    return accesses


def _request_call_key(context: Context) -> str | None:
    """Return the key of a call that another request may cancel; None without a session."""
    session = session_of(_http_request(context).headers)
    if session is None:
        return None
    return call_key(_request_accesses(context)[0].identity, session, context.request_id)


def _request_site(context: Context) -> str:
    request = ASGIRequest(_http_request(context).scope, BytesIO())
    return requested_site(request)


def _lane_of(lanes: Lanes, context: Context, is_long: bool) -> Lane:
    return lanes.of(_request_accesses(context)[0].caller.share, is_long=is_long)


def admit_request(request: HttpRequest) -> Sequence[Access]:
    """Return the accesses of a request's token, and count the request for rate limits.

    Raises AuthenticationFailed, NotAuthenticated, RateLimited, DisallowedHost, and Forbidden for a wrong
    origin.
    """
    _check_origin(request)
    with acting_nowhere():
        try:
            found = McpAuthentication().authenticate(request)  # type: ignore[arg-type]  # it reads the headers alone
            if found is None:
                count_request(request, f"address:{client_network(request)}")
                raise NotAuthenticated("Send a token: Authorization: Bearer kbb_…")
        except Exception as error:
            challenge = McpAuthentication().authenticate_header(request)
            error.auth_header = challenge  # type: ignore[attr-defined]  # as REST framework does
            raise
        if isinstance(found[1], Operator):
            raise Forbidden("Send the token of a workspace; on this machine there is `kebab mcp`.")
        caller = caller_of_token(found[1])
        record_caller(request, caller.share)
        count_request(request, caller.identity)
        return caller_accesses_or_refuse(caller)


def _check_origin(request: HttpRequest) -> None:
    """Refuse host names that the site isn't served under, and pages of other origins.

    https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning
    """
    own = f"{request.scheme}://{request.get_host()}"
    origin = request.headers.get("Origin", own)
    if origin != own and origin not in settings.CSRF_TRUSTED_ORIGINS:
        raise Forbidden("This page's origin is not one of KEBAB_TRUSTED_ORIGINS.", code="origin_not_trusted")


def _method_not_allowed() -> HttpResponse:
    detail = "Send each message by POST; there are no sessions to end, and no streams to listen to."
    headers = {"Allow": "POST"}
    return respond(Problem(status=405, code="method_not_allowed", detail=detail, headers=headers))


class _ResponseSender:
    """Sender of a response that adds the common headers and counts the response."""

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
            count_response(str(self._request.method), ROUTE, message["status"], self._began)
        await self._send(message)

    def _headers(self) -> dict[str, str]:
        return {**response_headers(self._request.path), **new_session(self._request.headers)}


async def _send_response(response: HttpResponse, send: Send) -> None:
    headers = [(name.lower().encode(), value.encode()) for name, value in response.items()]
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": response.content, "more_body": False})
