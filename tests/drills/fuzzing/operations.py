"""Valid requests to all routes: the API's operations, forms with files, the pages, and MCP."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import unescape
from typing import Any

from search.mcp.tools.registry import TOOLS, tool_schema
from tests.drills.fuzzing.forms import DELETIONS, FORM, JSON, MCP_PATH, MULTIPART, Form, Path
from tests.drills.fuzzing.multipart import File
from tests.drills.fuzzing.pool import Pool
from tests.security.leaks.page_calls import page_calls
from tests.security.leaks.routes import Route, routes

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
_INPUT = re.compile(r"<(?:input|textarea|select)\b[^>]*")
_ATTRIBUTE = re.compile(r'\b(name|value)="([^"]*)"')
# Routes that take a form beside the JSON that the API's description names.
_FILE_FORMS = (
    ("documents", {}, (File(),)),
    ("eval/topics", {"format": "golden"}, (File(name="golden.yaml", content=b"- query: boat\n"),)),
    (
        "eval/topics",
        {"format": "trec"},
        (File(name="topics.tsv", content=b"q\tboat\n"), File(field="qrels", name="a", content=b"q 0 a 1\n")),
    ),
    (
        "eval/topics",
        {"format": "beir"},
        (
            File(name="queries.jsonl", content=b'{"_id": "q", "text": "boat"}\n'),
            File(field="qrels", name="test.tsv", content=b"query-id\tcorpus-id\tscore\nq\ta\t1\n"),
        ),
    ),
)
# Parameters of the methods of MCP other than calls of tools.
_MCP_METHODS: Mapping[str, Mapping[str, Any]] = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "a", "version": "1"},
    },
    "notifications/cancelled": {"requestId": 1, "reason": "a"},
    "resources/list": {"cursor": "a"},
    "resources/read": {"uri": "kebab://docs/0.md"},
    "tools/list": {"cursor": "a"},
}
_MCP_HEADERS = ("application/json", "application/json, text/event-stream")


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
        body.pop("file" if content_type == MULTIPART else "", None)
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
            files=[File()] if content_type == MULTIPART else (),
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


def file_forms(workspace: str) -> list[Form]:
    """Return the forms with files that the API's description leaves out."""
    return [
        Form(
            name=f"POST {path} as a form",
            method="POST",
            path=f"/api/v1/workspaces/{{ws}}/{path}",
            arguments={"ws": workspace},
            content_type=MULTIPART,
            body=fields,
            places={(name,): ["string"] for name in (*fields, "set")},
            files=files,
        )
        for path, fields, files in _FILE_FORMS
    ]


def mcp_forms(pool: Pool) -> list[list[Form]]:
    """Return the calls of every tool, and the other methods, each for clients with and without streams."""
    calls = [
        ("tools/call", {"name": name, "arguments": _arguments(schema, pool)}, schema)
        for name, schema in ((name, tool_schema(tool)) for name, tool in TOOLS.items())
    ]
    others = [(method, parameters, {}) for method, parameters in _MCP_METHODS.items()]
    return [
        [_mcp_form(method, parameters, schema, accept) for accept in _MCP_HEADERS]
        for method, parameters, schema in (*calls, *others)
    ]


def _arguments(schema: Mapping[str, Any], pool: Pool) -> dict[str, str]:
    known = {"id": pool.find("chunk_id", "1"), "libraryId": pool.find("library_id", "1")}
    return {name: known.get(name, "boat") for name in schema.get("required", ())}


def _mcp_form(method: str, parameters: Mapping[str, Any], schema: Mapping[str, Any], accept: str) -> Form:
    arguments = {("params", "arguments", *path): types for path, types in _places(schema, {}, ())}
    own = {("params", name): ["string"] for name in parameters}
    common: dict[Path, Sequence[str]] = {
        ("method",): ["string"],
        ("id",): ["integer"],
        ("params",): ["object"],
        ("params", "_meta", "progressToken"): ["string"],
    }
    return Form(
        name=f"MCP {method} {parameters.get('name', '')}".rstrip(),
        method="POST",
        path=MCP_PATH,
        headers={"accept": accept},
        content_type=JSON,
        body={"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters},
        # A tool's arguments are the most important places.
        places={**arguments, **own, **common} if not arguments else {**arguments, **common},
    )


def page_forms(arguments: Mapping[str, str], read: Callable[[str], str]) -> list[Form]:
    """Return a form for each method of each page; `read` returns the page at an address."""
    forms: list[Form] = []
    called: dict[str, dict[str, Any]] = {}
    for call in page_calls():
        names = called.setdefault(call.route, {})
        names |= {pair.partition("=")[0]: "a" for pair in call.query.split("&") if pair} | dict(
            call.body or {}
        )
    for route in routes():
        # Readiness tells of the whole machine.
        if route.name.startswith(("api-", "readyz")) or route.pattern.startswith(("api/v1", "static")):
            continue
        forms += _forms_of(route, arguments, called.get(route.name, {}), read)
    return forms


def _forms_of(
    route: Route, known: Mapping[str, str], called: Mapping[str, Any], read: Callable[[str], str]
) -> Iterator[Form]:
    arguments = {name: known.get(name, "1") for name in route.arguments}
    path = route.path({name: f"{{{name}}}" for name in arguments})
    fields: dict[str, Any] = {**dict.fromkeys(_NAMES.get(route.name, ()), "a"), **called}
    if "get" in route.methods and DELETIONS.search(route.name) is None:
        fields |= _inputs(read(path.format_map(arguments)))
    fields = {
        name: value for name, value in fields.items() if isinstance(value, str) and "{" not in value
    } | {name: "a" for name, value in fields.items() if not isinstance(value, str) or "{" in value}
    for method in set(route.methods) & {"get", "post"}:
        if DELETIONS.search(route.name) and not arguments:
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
            files=[File()] if content_type == MULTIPART else (),
        )


def _inputs(page: str) -> dict[str, str]:
    found = (dict(_ATTRIBUTE.findall(tag)) for tag in _INPUT.findall(page))
    return {each["name"]: unescape(each.get("value", "a")) for each in found if each.get("name")}
