"""JSON values of dataclasses, whose fields are their only description; an absent value is None."""

from functools import cache
from typing import Any

from pydantic import TypeAdapter

Wire = dict[str, Any]


@cache
def adapter_of(type_: type[Any]) -> TypeAdapter[Any]:
    """Return the description of a dataclass, from which its JSON values and its JSON Schema are made."""
    return TypeAdapter(type_)


def to_wire(value: Any, *, include: Any = None, exclude: Any = None) -> Wire:
    """Return the fields of a dataclass by name, as JSON values; times are in the zone they have.

    `include` and `exclude`: the only fields, and those to leave out, as pydantic takes them.
    """
    kind: Any = type(value)
    # Without warnings: a field of floats may have whole numbers.
    wire: Wire = adapter_of(kind).dump_python(
        value, mode="json", include=include, exclude=exclude, warnings=False
    )
    return wire


def to_document(version: str, value: Any) -> Wire:
    """Return a result as a document of a published schema, such as `answer.v1`."""
    return {"schema_version": version, **to_wire(value)}
