"""One hostile request, and the encoding of bodies and addresses."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

JSON = "application/json"
API = "/api/v1"

#: Longest address that clients, proxies and servers accept; longer input goes into the body where possible.
MAX_ADDRESS = 8_000
#: Longest request target that the server reads; it rejects longer ones itself, in plain text.
MAX_TARGET = 65_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One request. Its address is sent unchanged, without normalisation or escaping."""

    #: The hostile part.
    kind: str
    #: The name of its endpoint.
    endpoint: str
    method: str
    #: ASCII, without spaces.
    target: str
    body: bytes | None = None
    headers: tuple[tuple[str, str], ...] = ()
    #: Whether it has our token.
    is_signed: bool = True


def json_body(value: Any) -> bytes:
    """Return `value` as JSON: in UTF-8, or escaped where UTF-8 can't encode it."""
    body = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return body if _is_utf8(body) else json.dumps(value).encode()


def parameters(fields: Mapping[str, Any]) -> str:
    """Return `fields` as URL parameters, cut to `MAX_TARGET`; the values of a list are repeated."""
    encoded = ""
    for name, value in _pairs(fields):
        if len(encoded) > MAX_TARGET:
            break
        encoded += f"{'&' if encoded else ''}{percent_encode(name)}={percent_encode(value)}"
    return encoded[:MAX_TARGET]


def percent_encode(value: Any) -> str:
    """Return `value` percent-encoded; surrogates become three invalid bytes each."""
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
