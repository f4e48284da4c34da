"""What clients of the versions with a handshake need over HTTP: a session's name, and giving up a call.

The name is the client's to send along and nothing that we keep: it tells its calls from those of other
clients with the same token.
"""

import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from kebab.http.content_length import stated_bytes

SESSION_HEADER: Final = "Mcp-Session-Id"
_VERSION_HEADER: Final = "MCP-Protocol-Version"
# A message that gives up a call is no longer; its reason is a sentence.
_LOOKED_AT_BYTES: Final = 10_000

#: By names in any case.
Headers = Mapping[str, str]
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]


def has_handshake(headers: Headers) -> bool:
    """Return whether a request is of a version with a handshake, as one is that names none."""
    return headers.get(_VERSION_HEADER, HANDSHAKE_PROTOCOL_VERSIONS[0]) in HANDSHAKE_PROTOCOL_VERSIONS


def session_of(headers: Headers) -> str | None:
    """Return the name of the session that a request says it is of; None where it has none."""
    return headers.get(SESSION_HEADER) if has_handshake(headers) else None


def new_session(headers: Headers) -> dict[str, str]:
    """Return the header that names a session to a client which has none yet."""
    is_new = has_handshake(headers) and SESSION_HEADER not in headers
    return {SESSION_HEADER: secrets.token_hex(16)} if is_new else {}


async def given_up_by(headers: Headers, receive: Receive) -> tuple[object, Receive]:
    """Return the id of the call that a request gives up, None of other requests, and its body to
    read again.
    """
    size_bytes = stated_bytes(headers.get("Content-Length", ""))
    if size_bytes is None or size_bytes > _LOOKED_AT_BYTES:
        return None, receive
    message = await receive()
    body = bytearray(message.get("body", b""))
    while message.get("more_body"):
        message = await receive()
        body += message.get("body", b"")
    return _named_in(bytes(body)), _again(bytes(body), receive)


def _named_in(body: bytes) -> object:
    try:
        message = json.loads(body)
        is_one = message["method"] == "notifications/cancelled"
        return message["params"]["requestId"] if is_one else None
    except (ValueError, LookupError, TypeError, RecursionError):
        return None  # whatever it is, it is refused where messages are read


def _again(body: bytes, receive: Receive) -> Receive:
    whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return whole.pop() if whole else await receive()

    return again
