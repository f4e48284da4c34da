"""The published JSON Schemas (draft 2020-12) of requests and responses, read from docs/wire-schema/v1/."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from kebab.locations import DOCS

_SUFFIX = ".json"


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
    """Add the published schemas to an OpenAPI document: a postprocessing hook of drf-spectacular."""
    components = result["components"]["schemas"]
    for name in schema_names():
        components.setdefault(_component_name(name), _refer_to_components(load_schema(name)))
    result["components"]["schemas"] = dict(sorted(components.items()))
    return result


def _find_schema(name: str) -> Path:
    if name not in schema_names():
        raise LookupError(f"There is no schema {name!r}; there are: {', '.join(schema_names())}.")
    return _folder() / f"{name}{_SUFFIX}"


def _component_name(name: str) -> str:
    """Return `SearchHit` for `search_hit.v1`."""
    return "".join(word.title() for word in name.partition(".")[0].split("_"))


def _refer_to_components(part: Any) -> Any:
    if isinstance(part, list):
        return [_refer_to_components(item) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return wire_component(part["$ref"].removesuffix(_SUFFIX))
    return {key: _refer_to_components(value) for key, value in part.items() if key not in {"$schema", "$id"}}


def _folder() -> Path:
    return DOCS / "wire-schema" / "v1"
