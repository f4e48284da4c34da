"""The published JSON Schemas (draft 2020-12) of requests and responses, read from docs/wire-schema/v1/."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from kebab.locations import DOCS

_SUFFIX = ".json"


def schema_names() -> tuple[str, ...]:
    """Return the names of all schemas, in order: `citation.v1`, …"""
    return tuple(sorted(path.name.removesuffix(_SUFFIX) for path in _folder().glob(f"*{_SUFFIX}")))


@cache
def load_schema(name: str) -> dict[str, Any]:
    """Return the schema `name`; its references are relative to it. Raises LookupError."""
    if name not in schema_names():
        raise LookupError(f"There is no schema {name!r}; there are: {', '.join(schema_names())}.")
    schema: dict[str, Any] = json.loads((_folder() / f"{name}{_SUFFIX}").read_text(encoding="utf-8"))
    return schema


def inline_schema(name: str) -> dict[str, Any]:
    """Return the schema with its references inlined, for use inside another document."""
    schema: dict[str, Any] = _inline_references(load_schema(name))
    return schema


def _inline_references(part: Any) -> Any:
    if isinstance(part, list):
        return [_inline_references(item) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return inline_schema(part["$ref"].removesuffix(_SUFFIX))
    return {key: _inline_references(value) for key, value in part.items() if key not in {"$schema", "$id"}}


def _folder() -> Path:
    return DOCS / "wire-schema" / "v1"
