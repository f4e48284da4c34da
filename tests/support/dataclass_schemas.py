"""JSON Schemas of dataclasses: pydantic describes the values, comments and docstrings say what they mean."""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, get_args, get_type_hints

from pydantic import TypeAdapter

Schema = dict[str, Any]

_COMMENTED = re.compile(r"((?:^ +#: .*\n)+)^ +(\w+): ", re.MULTILINE)
_COMMENT_MARK = re.compile(r"^ +#: ", re.MULTILINE)
# Of pydantic's keywords: the names of Python are no titles, and no value is left out of a document.
_DROPPED = frozenset({"title", "default", "description", "additionalProperties"})


def schema_of_type(type_: type, references: Mapping[type, str], titles: Mapping[type, str]) -> Schema:
    """Return the schema of the JSON values of a dataclass, with its parts where they are used.

    `references`: the published schemas of types, by which parts refer to them; `titles`: names of parts.
    """
    raw = TypeAdapter(type_).json_schema(mode="serialization")
    known = {part.__name__: part for part in _parts(type_)}
    return _Expansion(raw.pop("$defs", {}), known, references, titles).object_of(type_, raw)


class _Expansion:
    """The schemas of all types that a dataclass has, and how each is to be written."""

    def __init__(
        self,
        definitions: Mapping[str, Schema],
        known: Mapping[str, type],
        references: Mapping[type, str],
        titles: Mapping[type, str],
    ) -> None:
        self._definitions = definitions
        self._known = known
        self._references = references
        self._titles = titles

    def object_of(self, type_: type, raw: Schema) -> Schema:
        """Return the schema of a dataclass; every field is there, if only as null."""
        comments = _comments_of(type_)
        properties = {
            name: self._expand(each) | _describe(comments.get(name))
            for name, each in raw["properties"].items()
        }
        schema = {"type": "object", "required": list(properties), "properties": properties}
        return schema | _describe(inspect.getdoc(type_))

    def _expand(self, raw: Schema) -> Schema:
        if "$ref" in raw:
            return self._refer(raw["$ref"].rpartition("/")[2])
        if "anyOf" in raw:
            return _join([self._expand(each) for each in raw["anyOf"]])
        schema = {name: value for name, value in raw.items() if name not in _DROPPED}
        if "items" in schema:
            schema["items"] = self._expand(schema["items"])
        if "prefixItems" in schema:
            # Those of a pair are alike.
            schema["items"] = self._expand(schema.pop("prefixItems")[0])
        if isinstance(of_values := raw.get("additionalProperties"), dict):
            schema["additionalProperties"] = self._expand(of_values)
        return _order(schema)

    def _refer(self, name: str) -> Schema:
        type_, raw = self._known[name], self._definitions[name]
        if type_ in self._references:
            return {"$ref": f"{self._references[type_]}.json"}
        if issubclass(type_, Enum):
            return {"type": "string", "enum": raw["enum"]}
        return {"title": self._titles.get(type_, name), **self.object_of(type_, raw)}


def _join(choices: list[Schema]) -> Schema:
    """Return the schema of one of some values, several plain types as a list of them."""
    are_plain = all(
        isinstance(each.get("type"), str) and not each.keys() & {"enum", "properties"} for each in choices
    )
    if are_plain:
        together = {name: value for each in choices for name, value in each.items()}
        return _order({**together, "type": [each["type"] for each in choices]})
    # Null is said first, as the other may be long.
    return {"anyOf": sorted(choices, key=lambda each: each != {"type": "null"})}


def _order(schema: Schema) -> Schema:
    keywords = ("type", *sorted(schema.keys() - {"type", "items"}), "items")
    return {name: schema[name] for name in keywords if name in schema}


def _parts(type_: Any) -> Iterator[type]:
    """Yield the dataclasses and enums in a type."""
    if isinstance(type_, type) and issubclass(type_, Enum):
        yield type_
    elif is_dataclass(type_):
        yield type_  # type: ignore[misc]  # a class, not an instance
        hints = get_type_hints(type_)
        for each in fields(type_):
            yield from _parts(hints[each.name])
    for argument in get_args(type_):
        yield from _parts(argument)


def _comments_of(type_: type) -> dict[str, str]:
    """Return the comments above the fields of a dataclass."""
    return {
        name: " ".join(_COMMENT_MARK.sub("", lines).split("\n"))
        for lines, name in _COMMENTED.findall(inspect.getsource(type_))
    }


def _describe(text: str | None) -> Schema:
    """Return what is written about a field or a type, as a reader of JSON sees it."""
    described = re.sub(r"\bNone\b", "null", " ".join((text or "").partition(" Raises:")[0].split()))
    return {"description": described} if described else {}
