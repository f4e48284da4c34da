"""The OpenAPI document, and the part of it for agents; the same for all callers while the process lives."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from django.http import HttpResponse, JsonResponse
from drf_spectacular.renderers import OpenApiJsonRenderer
from drf_spectacular.views import SpectacularAPIView
from rest_framework.request import Request


class DocumentView(SpectacularAPIView):
    """The document as YAML or JSON; rendered once per process and format, because that takes a second."""

    def _get_schema_response(self, request: Request) -> HttpResponse:
        renderer = request.accepted_renderer
        filename = self._get_filename(request, None)  # type: ignore[no-untyped-call]  # drf-spectacular has no types
        return HttpResponse(
            _render_document(type(renderer)),  # type: ignore[arg-type]  # mypy thinks that classes have no hash
            content_type=renderer.media_type,
            headers={"Content-Disposition": f'inline; filename="{filename}"'},
        )


@cache
def _render_document(renderer: type[Any]) -> bytes:
    generator = DocumentView.generator_class(urlconf=DocumentView.urlconf, api_version=None, patterns=None)
    document = generator.get_schema(request=None, public=True)
    text = renderer().render(document, renderer_context={})
    return text if isinstance(text, bytes) else str(text).encode()


_BELOW: Final = "/api/v1/workspaces/{ws}"
#: The operations for agents: their names there, by method and address.
AGENT_OPERATIONS: Final[Mapping[tuple[str, str], str]] = {
    ("get", "/api/v1/workspaces"): "list_workspaces",
    ("post", "/api/v1/search"): "search_all_workspaces",
    ("post", f"{_BELOW}/search"): "search",
    ("post", f"{_BELOW}/ask"): "ask",
    ("post", f"{_BELOW}/context-pack"): "gather_context",
    ("get", f"{_BELOW}/chunks/{{chunk_id}}"): "read_passage",
    ("get", f"{_BELOW}/documents"): "list_documents",
    ("get", f"{_BELOW}/documents/{{doc_id}}"): "describe_document",
    ("get", f"{_BELOW}/documents/{{doc_id}}/chunks"): "read_document",
    ("post", f"{_BELOW}/documents"): "upload_document",
    ("get", f"{_BELOW}/jobs/{{job_id}}"): "get_job",
    ("get", f"{_BELOW}/libs/search"): "find_library",
    ("get", f"{_BELOW}/context"): "read_library",
}
_REFERENCE: Final = re.compile(r"#/components/schemas/(\w+)")


class AgentDocumentView(DocumentView):
    """The operations that agents need, with this site's address, for clients that make tools of them."""

    def _get_schema_response(self, request: Request) -> HttpResponse:
        servers = [{"url": request.build_absolute_uri("/").rstrip("/")}]
        return JsonResponse({**_agent_document(), "servers": servers})


@cache
def _agent_document() -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(_render_document(OpenApiJsonRenderer))
    paths: dict[str, dict[str, Any]] = {}
    for (method, path), name in AGENT_OPERATIONS.items():
        operation = whole["paths"][path][method]
        answers = {status: each for status, each in operation["responses"].items() if status[0] in "2d"}
        paths.setdefault(path, {})[method] = {
            **operation,
            "operationId": name,
            "responses": answers,
            "security": [{"token": []}],
        }
        if "requestBody" in operation:
            # LibreChat makes tools of bodies without following references inside them.
            paths[path][method]["requestBody"] = _inline(operation["requestBody"], whole)
    schemas = whole["components"]["schemas"]
    used = {name: schemas[name] for name in sorted(set(_used_schemas(paths, schemas)))}
    components = {
        "schemas": used,
        "securitySchemes": {"token": whole["components"]["securitySchemes"]["token"]},
    }
    return {"openapi": whole["openapi"], "info": whole["info"], "paths": paths, "components": components}


def _inline(part: Any, whole: Mapping[str, Any]) -> Any:
    """Return a part of the document with the schemas that it refers to, none of which contains itself."""
    if isinstance(part, list):
        return [_inline(each, whole) for each in part]
    if not isinstance(part, dict):
        return part
    if (found := _REFERENCE.fullmatch(str(part.get("$ref", "")))) is not None:
        return _inline(whole["components"]["schemas"][found[1]], whole)
    return {name: _inline(each, whole) for name, each in part.items()}


def _used_schemas(part: Any, schemas: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the schemas that a part of the document refers to, directly or not."""
    left, seen = [part], set[str]()
    while left:
        for name in _REFERENCE.findall(json.dumps(left.pop())):
            if name not in seen:
                seen.add(name)
                left.append(schemas[name])
                yield name
