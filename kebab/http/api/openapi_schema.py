"""OpenAPI extensions that views don't declare: authentication, errors, idempotency keys."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, extend_schema_field, inline_serializer
from rest_framework import serializers

from kebab.locations import DOCS

_SUFFIX = ".json"
_REFERENCE = re.compile(r'"#/components/schemas/(\w+)"')


@cache
def schema_names() -> tuple[str, ...]:
    """Return the names of all schemas, in order: `citation.v1`, …"""
    return tuple(sorted(path.name.removesuffix(_SUFFIX) for path in _folder().glob(f"*{_SUFFIX}")))


@cache
def load_schema(name: str) -> dict[str, Any]:
    """Return the schema `name`; its references are relative to it. Raises LookupError."""
    schema: dict[str, Any] = json.loads(_find_schema(name).read_text(encoding="utf-8"))
    return schema


def wire_component(name: str) -> dict[str, Any]:
    """Return a reference to the schema `name` as a component of the OpenAPI document. Raises LookupError."""
    _find_schema(name)
    return {"$ref": f"#/components/schemas/{_component_name(name)}"}


def add_components(result: dict[str, Any], **_options: Any) -> dict[str, Any]:
    """Add the published schemas that an OpenAPI document refers to: a postprocessing hook of drf-spectacular.

    An object with a title within a schema becomes a component too, shared by all schemas that have it.
    """
    components: dict[str, Any] = result["components"]["schemas"]
    published = {_component_name(name): name for name in schema_names()}
    left = {*_REFERENCE.findall(json.dumps(result, default=str))}
    while left:
        for name in sorted(left - components.keys()):
            components[name] = _refer_to_components(load_schema(published[name]), components, is_root=True)
        left = {*_REFERENCE.findall(json.dumps(components, default=str))} - components.keys()
    result["components"]["schemas"] = dict(sorted(components.items()))
    return result


def _find_schema(name: str) -> Path:
    if name not in schema_names():
        raise LookupError(f"There is no schema {name!r}; there are: {', '.join(schema_names())}.")
    return _folder() / f"{name}{_SUFFIX}"


def _component_name(name: str) -> str:
    """Return `SearchHit` for `search_hit.v1`."""
    return "".join(word.title() for word in name.partition(".")[0].split("_"))


def _refer_to_components(part: Any, components: dict[str, Any], *, is_root: bool = False) -> Any:
    """Return a part of a schema with references to components, and add those within it to these."""
    if isinstance(part, list):
        return [_refer_to_components(item, components) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return wire_component(part["$ref"].removesuffix(_SUFFIX))
    found = {
        key: _refer_to_components(value, components)
        for key, value in part.items()
        if key not in {"$schema", "$id"} and not (key == "title" and isinstance(value, str))
    }
    title = part.get("title")
    if is_root or not isinstance(title, str):
        return found
    components.setdefault(title, found)
    return {"$ref": f"#/components/schemas/{title}"}


def _folder() -> Path:
    return DOCS / "wire-schema" / "v1"


_ERRORS = {
    "400": "The request is wrong: a value, an unknown field or parameter, a cursor.",
    "401": "No credentials, or none that are valid.",
    "403": "The role or the scope is not enough, or the CSRF token is missing.",
    "404": "There is no such thing, or none that you may see.",
    "429": "Too many requests; `Retry-After` says after how many seconds the next one is answered.",
    "default": "Any other error.",
}


_PROBLEM = wire_component("problem.v1")


@extend_schema_field(_PROBLEM)
class ProblemField(serializers.DictField):
    """An error, after RFC 9457."""


class KebabSchema(AutoSchema):
    """The schema of a view: its parameters, errors, and `Idempotency-Key` where the view accepts it."""

    def get_operation(self, *args: Any, **kwargs: Any) -> Any:
        """Return the operation; None for one that is left out of the document."""
        operation = super().get_operation(*args, **kwargs)
        if operation is not None:
            operation["summary"] = _first_sentence(operation["description"])
            # An adapter answers with the errors of the product that it stands for.
            own = getattr(self.view, "error_serializer", None)
            media_type = "application/problem+json" if own is None else "application/json"
            error = _PROBLEM if own is None else self.resolve_serializer(own, "response").ref
            need = getattr(self.view, "required", {}).get(self.method)
            takes = {} if need is None else {"403": f"It takes {need}; or the CSRF token is missing."}
            for status, description in {**_ERRORS, **takes}.items():
                content = {media_type: {"schema": error}}
                operation["responses"].setdefault(status, {"description": description, "content": content})
        return operation

    def get_tags(self) -> list[str]:
        """Return the resource that the operation is about, as its address names it."""
        parts = self.path.removeprefix("/api/v1/").removeprefix("workspaces/{ws}").strip("/").split("/")
        return [parts[0] or "workspaces"]

    def get_operation_id(self) -> str:
        """Return the name of the view and the method: `one_workspace_get`."""
        words = re.findall("[A-Z][a-z0-9]*", type(self.view).__name__.removesuffix("View"))
        return "_".join(word.lower() for word in (*words, self.method))

    def get_override_parameters(self) -> list[Any]:
        """Return the parameters that the view doesn't declare with `extend_schema`."""
        parameters = list(super().get_override_parameters())
        query = getattr(self.view, "queries", {}).get(self.method)
        if query is not None:
            parameters.append(query)
        method = getattr(self.view, self.method.lower(), None)
        if getattr(method, "takes_idempotency_key", False):
            parameters.append(_IDEMPOTENCY_KEY)
        return parameters


def _first_sentence(text: str) -> str:
    """Return the first sentence, without its full stop."""
    return re.split(r"[.;:](?:\s|$)", " ".join(text.split()), maxsplit=1)[0]


_IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "pattern": "^[!-~]([ -~]{0,198}[!-~])?$"},
    OpenApiParameter.HEADER,
    description="Your own name for this request. Sent again with the same body within 24 hours it is not done"
    " twice: the first answer is repeated, marked `Idempotency-Replayed: true`.",
)


def merge_any_values(result: Any, **_options: Any) -> Any:
    """Return a part of the document in which "any value, or null" is any value: a postprocessing hook."""
    if isinstance(result, list):
        return [merge_any_values(each) for each in result]
    if not isinstance(result, dict):
        return result
    if result.get("oneOf") == [{}, {"type": "null"}]:
        result = {name: value for name, value in result.items() if name != "oneOf"}
    return {name: merge_any_values(value) for name, value in result.items()}


class StrictScheme(OpenApiSerializerExtension):
    """Bodies of requests: `additionalProperties: false` where they refuse unknown fields, and no defaults.

    Generated clients would send the defaults of the day they were generated, or demand these fields.
    """

    target_class = "kebab.http.api.serializers.StrictSerializer"
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: Any) -> dict[str, Any]:
        """Return the schema."""
        found: dict[str, Any] = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        if direction == "response":
            return found
        for field in found.get("properties", {}).values():
            _describe_default(field)
        return {**found, "additionalProperties": False}


def _describe_default(field: dict[str, Any]) -> None:
    """Move the default of a field to its description."""
    default = field.pop("default", None)
    if default not in (None, "", []):
        described = f"{field.get('description', '')} Left out: {json.dumps(default)}."
        field["description"] = described.strip()


class TokenScheme(OpenApiAuthenticationExtension):
    """`Authorization: Bearer kbb_…`."""

    target_class = "kebab.http.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        """Return the security scheme."""
        return {"type": "http", "scheme": "bearer", "bearerFormat": "kbb_<prefix>_<secret>, kbp_…"}


class PersonScheme(OpenApiAuthenticationExtension):
    """The session cookie of a person who has signed in."""

    target_class = "kebab.http.api.authentication.PersonAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        """Return the security scheme."""
        return {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME}


def page_of(row: type[serializers.BaseSerializer[Any]]) -> serializers.Serializer[Any]:
    """Return the serializer of a page of `row`, for `extend_schema(responses=…)`."""
    return inline_serializer(
        name=f"{row.__name__.removesuffix('Serializer')}Page",
        fields={
            "results": row(many=True),
            "next_cursor": serializers.CharField(allow_null=True),
        },
    )
