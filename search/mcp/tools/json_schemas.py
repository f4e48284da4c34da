"""JSON Schemas in the form that all clients read."""

from collections.abc import Mapping
from typing import Any


def without_refs(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON Schema of an object without references, which not all clients resolve."""
    inlined: dict[str, Any] = _inline_refs(schema, schema.get("$defs", {}))
    return {key: value for key, value in inlined.items() if key not in ("description", "$defs")}


def _inline_refs(part: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(part, list):
        return [_inline_refs(item, definitions) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        inner = definitions[part["$ref"].rpartition("/")[2]]
        siblings = {key: value for key, value in part.items() if key != "$ref"}
        return _inline_refs(inner, definitions) | siblings
    # A title that is a string repeats the name; a property may be called title, too.
    return {
        key: _inline_refs(value, definitions)
        for key, value in part.items()
        if key != "title" or not isinstance(value, str)
    }
