"""The published JSON Schemas (draft 2020-12) of requests and responses, read from docs/wire-schema/v1/."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

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
