"""Support over HTTP for protocol versions with a handshake: session names and cancellation of calls.

The server stores no sessions. The client sends the name with each request, which tells its calls from those
of other clients with the same token.
"""

import json
import secrets
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Final

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from kebab.http.content_length import parse_content_length

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
