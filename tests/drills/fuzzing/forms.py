"""Valid requests to all routes, with the places at which a value may be replaced."""

import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import unescape
from random import Random
from typing import Any
from urllib.parse import quote, urlencode

from tests.drills.fuzzing.cost import Sent
from tests.drills.fuzzing.pool import Pool
from tests.drills.fuzzing.texts import Literal, adversarial_text, adversarial_value
from tests.security.leaks.page_calls import page_calls
from tests.security.leaks.routes import Route, routes

JSON, FORM, MULTIPART = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"
#: The most that a body has, and all of the headers together, in bytes.
BODY_BYTES, HEAD_BYTES = 1_000_000, 60_000
_BOUNDARY = "boundary0"
# Written by a client or a proxy in front, and read by the product or its framework.
_HEADERS = (
    *("accept", "accept-language", "accept-encoding", "cookie", "content-type", "idempotency-key", "range"),
    *(
        "if-none-match",
        "if-modified-since",
        "referer",
        "origin",
        "host",
        "user-agent",
        "x-request-id",
        "traceparent",
    ),
    *("x-forwarded-for", "forwarded", "authorization", "x-csrftoken", "hx-current-url", "hx-request"),
)
# Fields of pages without a form, and of those that are only posted to.
_NAMES: Mapping[str, Sequence[str]] = {
    "oauth-authorization": (
        "client_id",
        "redirect_uri",
        "scope",
        "state",
        "code_challenge",
        "resource",
        "nonce",
    ),
    "oauth-registration": ("client_name", "redirect_uris", "client_uri", "scope", "contacts"),
    "oauth-token": ("grant_type", "code", "refresh_token", "client_id", "redirect_uri", "code_verifier"),
    "oauth-revocation": ("token", "token_type_hint", "client_id"),
    "openid_connect_callback": ("code", "state", "error", "error_description"),
    "login": ("username", "password", "next"),
    "profile-theme": ("theme", "next"),
}
# They would end the session that sends the requests, or delete what the others need.
_LEFT_OUT = re.compile(
    r"logout|profile-sessions|delet|remov|revocation|withdrawal|_delete|admin:jsi18n|events$"
)
_INPUT = re.compile(r"<(?:input|textarea|select)\b[^>]*")
_ATTRIBUTE = re.compile(r'\b(name|value)="([^"]*)"')

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A request before it is encoded."""

    name: str
    method: str
    #: With arguments in braces.
    path: str
    arguments: Mapping[str, str]
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = ""
    body: Any = None
    #: Places in the body, and parameters of the query, with the types that their values may have.
    places: Mapping[Path, Sequence[str]] = field(default_factory=dict)
    parameters: Sequence[str] = ()
    files: Sequence[str] = ()
    #: The replaced part of the file (`name`, `content` or `field`), and its text.
    upload: tuple[str, str] = ("", "")

    @property
    def is_deletion(self) -> bool:
        """Return whether a valid request deletes something."""
        return self.method == "DELETE" or _LEFT_OUT.search(self.name) is not None

    def encode(self) -> Sent:
        """Return the request as it is sent."""
        path = self.path.format_map({name: _quote(value) for name, value in self.arguments.items()})
        query = _encode_pairs(self.query)[: HEAD_BYTES - len(path)]
        headers, body = dict(self.headers), b""
        if self.content_type:
            body = _encode_body(self.content_type, self.body, self.files, self.upload)
            boundary = f"; boundary={_BOUNDARY}" if self.content_type == MULTIPART else ""
            headers.setdefault("content-type", self.content_type + boundary)
        return Sent(
            method=self.method,
            target=f"{path[:HEAD_BYTES]}{'?' * bool(query)}{query}",
            headers=list(headers.items()),
            body=body[:BODY_BYTES],
        )


def spoil(form: Form, source: Random) -> tuple[str, Form]:
    """Return what was replaced, and the request with one adversarial value."""
    ways = [_spoil_header, _spoil_query]
    if form.arguments:
        ways.append(_spoil_path)
    if form.content_type:
        ways += [_spoil_body] * 6
    if form.is_deletion:
        ways = [_spoil_path] if form.arguments else [_spoil_header]
    return source.choice(ways)(form, source)


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
    size = _size(source, BODY_BYTES)
    if source.random() < 0.05:
        kind, body = adversarial_value(source, size, ())
        return f"body: {kind}", replace(form, body=body)
    if form.files and source.random() < 0.5:
        kind, text = adversarial_text(source, min(size, 30_000))
        part = source.choice(["name", "content", "field"])
        return f"file {part}: {kind}", replace(form, upload=(part, text))
    path = source.choice(list(form.places) or [("a",)])
    kind, value = adversarial_value(source, size, form.places.get(path, ()))
    body = _put(copy.deepcopy(form.body), path, value)
    return f"{'.'.join(map(str, path))}: {kind}", replace(form, body=body)


def _size(source: Random, most: int) -> int:
    return source.choice([300, 3_000, 30_000, 300_000, most, most])


def operations_of(
    operation: Any, cases: Sequence[Any], pool: Pool, described: Mapping[str, Any]
) -> Iterator[Form]:
    """Yield a form for each valid case of an operation of the API."""
    raw = operation.definition.raw
    [content_type] = list(raw.get("requestBody", {}).get("content", {})) or [""]
    schema = raw.get("requestBody", {}).get("content", {}).get(content_type, {}).get("schema", {})
    name = f"{operation.method.upper()} {operation.path}"
    for case in cases:
        body = pool.fields(name, case.body) if isinstance(case.body, dict) else {}
        yield Form(
            name=name,
            method=operation.method.upper(),
            path=operation.path,
            arguments={key: str(value) for key, value in pool.arguments(case.path_parameters or {}).items()},
            query=pool.fields(name, case.query or {}) if not body else case.query or {},
            content_type=content_type,
            body=body,
            places=dict(_places(schema, described, ())),
            parameters=[each["name"] for each in raw.get("parameters", ()) if each["in"] == "query"],
            files=["file"] if content_type == MULTIPART else (),
        )


def _places(
    schema: Mapping[str, Any], described: Mapping[str, Any], path: Path
) -> Iterator[tuple[Path, list[str]]]:
    """Yield the places of a schema with their types, down to the fourth level."""
    while "$ref" in schema:
        schema = described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    for variant in (*schema.get("allOf", ()), *schema.get("oneOf", ()), *schema.get("anyOf", ())):
        yield from _places(variant, described, path)
    types = schema.get("type", [])
    if path:
        yield path, [types] if isinstance(types, str) else list(types)
    if len(path) < 4:
        for name, inner in schema.get("properties", {}).items():
            yield from _places(inner, described, (*path, name))
        if "items" in schema:
            yield from _places(schema["items"], described, (*path, 0))


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


def page_forms(arguments: Mapping[str, str], read: Any) -> list[Form]:
    """Return a form for each method of each page; `read` returns the page at an address."""
    forms, called = [], {}
    for call in page_calls():
        names = called.setdefault(call.route, {})
        names |= {pair.partition("=")[0]: "a" for pair in call.query.split("&") if pair} | dict(
            call.body or {}
        )
    for route in routes():
        if route.name.startswith("api-") or route.pattern.startswith(("api/v1", "static")):
            continue
        forms += _forms_of(route, arguments, called.get(route.name, {}), read)
    return forms


def _forms_of(route: Route, known: Mapping[str, str], called: Mapping[str, Any], read: Any) -> Iterator[Form]:
    arguments = {name: known.get(name, "1") for name in route.arguments}
    path = route.path({name: f"{{{name}}}" for name in arguments})
    fields = {**dict.fromkeys(_NAMES.get(route.name, ()), "a"), **called}
    if "get" in route.methods and _LEFT_OUT.search(route.name) is None:
        fields |= _inputs(read(path.format_map(arguments)))
    fields = {
        name: value for name, value in fields.items() if isinstance(value, str) and "{" not in value
    } | {name: "a" for name, value in fields.items() if not isinstance(value, str) or "{" in value}
    for method in set(route.methods) & {"get", "post"}:
        if _LEFT_OUT.search(route.name) and not arguments:
            continue
        content_type = "" if method == "get" else JSON if route.name == "oauth-registration" else FORM
        content_type = MULTIPART if method == "post" and route.name == "upload" else content_type
        yield Form(
            name=f"{method.upper()} {route.name}",
            method=method.upper(),
            path=path,
            arguments=arguments,
            query={} if content_type else fields,
            content_type=content_type,
            body=fields,
            places={(name,): ["string"] for name in fields},
            parameters=list(fields),
            files=["file"] if content_type == MULTIPART else (),
        )


def _inputs(page: str) -> dict[str, str]:
    found = (dict(_ATTRIBUTE.findall(tag)) for tag in _INPUT.findall(page))
    return {each["name"]: unescape(each.get("value", "a")) for each in found if each.get("name")}


def _encode_body(content_type: str, body: Any, files: Sequence[str], upload: tuple[str, str]) -> bytes:
    if content_type == JSON:
        return _encode_json(body)
    if content_type == FORM:
        return _encode_pairs(
            body if isinstance(body, dict) else {"a": _encode_json(body).decode("utf-8", "replace")}
        ).encode()
    return _encode_parts(body if isinstance(body, dict) else {"a": body}, files, upload)


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


def _encode_parts(fields: Mapping[str, Any], files: Sequence[str], upload: tuple[str, str]) -> bytes:
    part, text = upload
    name, content = ("fresh.md", b"# Fresh")
    if part == "name":
        name = text.replace('"', "%22")
    if part == "content":
        content = _bytes(text)
    lines: list[bytes] = []
    for key, value in fields.items():
        if key not in files:
            for each in value if isinstance(value, list) else [value]:
                shown = (
                    each.text
                    if isinstance(each, Literal)
                    else each
                    if isinstance(each, str)
                    else json.dumps(each, default=str)
                )
                lines += [
                    f"--{_BOUNDARY}".encode(),
                    b'Content-Disposition: form-data; name="' + _bytes(key.replace('"', "")) + b'"',
                    b"",
                    _bytes(shown),
                ]
    key = text if part == "field" else files[0]
    place = (
        b'Content-Disposition: form-data; name="'
        + _bytes(key.replace('"', ""))
        + b'"; filename="'
        + _bytes(name)
        + b'"'
    )
    lines += [f"--{_BOUNDARY}".encode(), place, b"Content-Type: text/markdown", b"", content]
    return b"\r\n".join([*lines, f"--{_BOUNDARY}--".encode(), b""])


def _quote(value: str) -> str:
    return quote(_bytes(value), safe="")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
