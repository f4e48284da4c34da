"""Requests before they are encoded, and the places at which a value may be replaced."""

import copy
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any
from urllib.parse import quote, urlencode

from tests.drills.fuzzing.cost import Sent
from tests.drills.fuzzing.multipart import BOUNDARY, File, encode_parts, spoil_file, spoil_frame
from tests.drills.fuzzing.texts import Literal, adversarial_text, adversarial_value

JSON, FORM, MULTIPART = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"
#: The most that a body has, and all of the headers together, in bytes.
BODY_BYTES, HEAD_BYTES = 1_000_000, 60_000
MCP_PATH = "/mcp"
# Paths whose requests have a token and no session.
_OF_TOKENS = (MCP_PATH, "/api/v1/dify/", "/api/v1/openai/")
# Sizes of pieces in which a body is sent; a long one isn't sent by the byte.
_PIECES = ((65_536,), (1_000, 1), (300, 4_096, 1))
_BY_THE_BYTE = 3_000
# Written by a client or a proxy in front, and read by the product or its framework.
_HEADERS = (
    *("accept", "accept-language", "accept-encoding", "cookie", "content-type", "idempotency-key", "range"),
    *("if-none-match", "if-modified-since", "referer", "origin", "host", "user-agent", "x-request-id"),
    *("traceparent", "x-forwarded-for", "forwarded", "authorization", "x-csrftoken", "hx-current-url"),
    *("hx-request", "content-encoding", "expect", "mcp-session-id", "mcp-protocol-version", "openai-project"),
)
#: Names of pages that end the session, or delete what other requests need.
DELETIONS = re.compile(
    r"logout|profile-sessions|delet|remov|revocation|withdrawal|_delete|admin:jsi18n|events$"
)

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A request before it is encoded."""

    name: str
    method: str
    #: With arguments in braces.
    path: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = ""
    body: Any = None
    #: Places in the body, and parameters of the query, with the types that their values may have.
    places: Mapping[Path, Sequence[str]] = field(default_factory=dict)
    parameters: Sequence[str] = ()
    #: The files of a form.
    files: Sequence[File] = ()
    #: The body as bytes, if the encoded one was spoilt, and the boundary that the headers declare.
    raw: bytes | None = None
    boundary: str = BOUNDARY
    pieces: Sequence[int] = ()

    @property
    def is_deletion(self) -> bool:
        """Return whether a valid request deletes something."""
        return self.method == "DELETE" or DELETIONS.search(self.name) is not None

    @property
    def takes_token(self) -> bool:
        """Return whether it is authenticated by a token alone."""
        return self.path.startswith(_OF_TOKENS)

    def encode(self) -> Sent:
        """Return the request as it is sent."""
        path = self.path.format_map({name: _quote(value) for name, value in self.arguments.items()})
        query = _encode_pairs(self.query)[: HEAD_BYTES - len(path)]
        headers = dict(self.headers)
        if self.content_type:
            boundary = f"; boundary={self.boundary}" if self.content_type == MULTIPART else ""
            headers.setdefault("content-type", self.content_type + boundary)
        return Sent(
            method=self.method,
            target=f"{path[:HEAD_BYTES]}{'?' * bool(query)}{query}",
            headers=list(headers.items()),
            body=self.encode_body()[:BODY_BYTES],
            pieces=self.pieces,
        )

    def encode_body(self) -> bytes:
        """Return the body."""
        if self.raw is not None or not self.content_type:
            return self.raw or b""
        if self.content_type == JSON:
            return _encode_json(self.body)
        if self.content_type == MULTIPART:
            return encode_parts(self._fields(self.body), list(self.files))
        return _encode_pairs(self._fields(_encode_json(self.body).decode("utf-8", "replace"))).encode()

    def _fields(self, otherwise: Any) -> Mapping[str, Any]:
        return self.body if isinstance(self.body, dict) else {"a": otherwise}


def spoil(form: Form, source: Random) -> tuple[str, Form]:
    """Return what was replaced, and the request with one adversarial value, at times sent in pieces."""
    ways = [_spoil_header, _spoil_query]
    if form.arguments:
        ways.append(_spoil_path)
    if form.content_type:
        ways += [_spoil_body] * 6
    if form.is_deletion:
        ways = [_spoil_path] if form.arguments else [_spoil_header]
    what, spoilt = source.choice(ways)(form, source)
    if spoilt.content_type and source.random() < 0.2:
        return what, _send_in_pieces(spoilt, source)
    return what, spoilt


def _send_in_pieces(form: Form, source: Random) -> Form:
    sizes = [*_PIECES, (1,)] if len(form.encode_body()) < _BY_THE_BYTE else _PIECES
    return replace(form, pieces=source.choice(sizes))


def _spoil_path(form: Form, source: Random) -> tuple[str, Form]:
    name = source.choice(sorted(form.arguments))
    kind, text = adversarial_text(source, _size(source, HEAD_BYTES // 3))
    return f"{{{name}}}: {kind}", replace(form, arguments={**form.arguments, name: text or "a"})


def _spoil_header(form: Form, source: Random) -> tuple[str, Form]:
    name = source.choice(_HEADERS)
    kind, text = adversarial_text(source, _size(source, HEAD_BYTES))
    before = {"cookie": form.headers.get("cookie", "a=b") + "; sessionid2=", "authorization": "Bearer "}.get(
        name, ""
    )
    text = before + text.replace("\r", " ").replace("\n", " ")
    return f"{name}: {kind}", replace(form, headers={**form.headers, name: text})


def _spoil_query(form: Form, source: Random) -> tuple[str, Form]:
    names = list(form.parameters) or ["q"]
    name = source.choice(names)
    kind, text = adversarial_text(source, _size(source, HEAD_BYTES // 3))
    values: Any = source.choice([text, text, text.split(source.choice([" ", "a", ","]))[:20_000]])
    query = {**form.query, name: values}
    if source.random() < 0.1:
        kind, query = "many parameters", dict.fromkeys((f"{name}{number}" for number in range(8_000)), "1")
    return f"?{name}: {kind}", replace(form, query=query)


def _spoil_body(form: Form, source: Random) -> tuple[str, Form]:
    """Spoil a body of an existing workspace or, at times, of one that doesn't exist."""
    if form.arguments and source.random() < 0.1:
        form = replace(form, arguments={**form.arguments, next(iter(form.arguments)): "absent"})
    size = _size(source, BODY_BYTES)
    if source.random() < 0.05:
        kind, body = adversarial_value(source, size, ())
        return f"body: {kind}", replace(form, body=body)
    if form.files and source.random() < 0.6:
        return _spoil_files(form, source, size)
    path = source.choice(list(form.places) or [("a",)])
    kind, value = adversarial_value(source, size, form.places.get(path, ()))
    body = _put(copy.deepcopy(form.body), path, value)
    return f"{'.'.join(map(str, path))}: {kind}", replace(form, body=body)


def _spoil_files(form: Form, source: Random, size: int) -> tuple[str, Form]:
    if source.random() < 0.2:
        what, boundary, raw = spoil_frame(source, form.encode_body(), size)
        return what, replace(form, raw=raw, boundary=boundary)
    number = source.randrange(len(form.files))
    what, files = spoil_file(source, form.files[number], size)
    return what, replace(form, files=[*form.files[:number], *files, *form.files[number + 1 :]])


def _size(source: Random, most: int) -> int:
    return source.choice([300, 3_000, 30_000, 300_000, most, most])


def _put(body: Any, path: Path, value: Any) -> Any:
    """Return `body` with a value at a place, whatever is there."""
    if not path:
        return value
    name, rest = path[0], path[1:]
    if isinstance(name, int):
        inner = body[0] if isinstance(body, list) and body else None
        return [_put(inner, rest, value)]
    body = body if isinstance(body, dict) else {}
    return {**body, name: _put(body.get(name), rest, value)}


def _encode_json(value: Any) -> bytes:
    literals: list[str] = []

    def keep(item: Any) -> Any:
        if isinstance(item, Literal):
            literals.append(item.text)
            return "\u2603"
        if isinstance(item, dict):
            return {name: keep(inner) for name, inner in item.items()}
        return [keep(inner) for inner in item] if isinstance(item, list) else item

    text = json.dumps(keep(value), ensure_ascii=False, default=str)
    for literal in literals:
        text = text.replace('"\u2603"', literal, 1)
    return text.encode("utf-8", "surrogatepass")


def _encode_pairs(fields: Mapping[str, Any]) -> str:
    pairs = [
        (name, value.text if isinstance(value, Literal) else str(value))
        for name, values in fields.items()
        for value in (
            values if isinstance(values, list) else values.items() if isinstance(values, dict) else [values]
        )
    ]
    return urlencode([(_bytes(name), _bytes(value)) for name, value in pairs])


def _quote(value: str) -> str:
    return quote(_bytes(value), safe="")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
