"""One hostile request, and how a body or an address is written."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

JSON = "application/json"
API = "/api/v1"

#: A request line that clients, proxies and servers still take; what is longer goes in a body where it may.
MAX_ADDRESS = 8_000
#: What the server reads of one; it refuses a longer one itself, in plain text.
MAX_TARGET = 65_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One request. Its address is sent as it stands here: nothing mends or escapes it on the way."""

    #: What is hostile about it.
    kind: str
    #: The name of the door it knocks at.
    door: str
    method: str
    #: ASCII, without spaces.
    target: str
    body: bytes | None = None
    headers: tuple[tuple[str, str], ...] = ()
    #: Whether it comes with our token.
    is_signed: bool = True


def json_body(value: Any) -> bytes:
    """Return `value` as JSON: in UTF-8, or in escapes where it holds what UTF-8 can't say."""
    body = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return body if _is_utf8(body) else json.dumps(value).encode()


def parameters(fields: Mapping[str, Any]) -> str:
    """Return `fields` as the part of an address behind `?`, cut to `MAX_TARGET`; a list is repeated."""
    written = ""
    for name, value in _pairs(fields):
        if len(written) > MAX_TARGET:
            break
        written += f"{'&' if written else ''}{escaped(name)}={escaped(value)}"
    return written[:MAX_TARGET]


def escaped(value: Any) -> str:
    """Return `value` percent-escaped; halves of surrogate pairs as the three bytes that nobody may send."""
    text = str(value).lower() if isinstance(value, bool) else str(value)[:MAX_TARGET]
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def _pairs(fields: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    for name, value in fields.items():
        for each in value if isinstance(value, list) else [value]:
            yield name, each


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
