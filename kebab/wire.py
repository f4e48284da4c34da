"""JSON values of dataclasses, whose fields are their only description, and errors of other values."""

from functools import cache
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import ErrorDetails

Wire = dict[str, Any]


@cache
def adapter_of(type_: type[Any]) -> TypeAdapter[Any]:
    """Return the description of a dataclass, from which its JSON values and its JSON Schema are made."""
    return TypeAdapter(type_)


def to_wire(value: Any, *, include: Any = None, exclude: Any = None) -> Wire:
    """Return the fields of a dataclass by name, as JSON values; times keep their zones, None stays.

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


def locate_error(error: ErrorDetails) -> tuple[str, str]:
    """Return the place of an error, such as `versions[1].tag`, and what should be there."""
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error["loc"])
    is_of_type = error["type"] == "dataclass_type"  # its message names the class
    message = "Input should be an object" if is_of_type else error["msg"].removeprefix("Value error, ")
    return place.removeprefix("."), message
