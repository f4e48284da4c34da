"""Types of fields with bounds that the published JSON Schemas state: pydantic reads them by a method."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any


@dataclass(frozen=True, slots=True)
class Keyword:
    """A keyword of JSON Schema for the values of a field."""

    name: str
    value: object

    def __get_pydantic_json_schema__(
        self, core_schema: Any, handler: Callable[[Any], dict[str, Any]]
    ) -> dict[str, Any]:
        """Return the schema of the values with the keyword."""
        return {**handler(core_schema), self.name: self.value}


class AsText:
    """A mark on a field of a StrEnum: its members are written as the texts that they are."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], dict[str, Any]]) -> Any:
        """Return the schema of the enumeration; without this its members are looked up by Python code."""
        return {**handler(source), "serialization": {"type": "str"}}


Count = Annotated[int, Keyword("minimum", 0)]
#: From 1.
Rank = Annotated[int, Keyword("minimum", 1)]
#: A duration or another number of 0 or more.
NonNegative = Annotated[float, Keyword("minimum", 0)]
#: In [0, 1], higher is better.
Score = Annotated[NonNegative, Keyword("maximum", 1)]
NonEmpty = Annotated[str, Keyword("minLength", 1)]
#: 32 hex digits.
HexId = Annotated[str, Keyword("pattern", "^[0-9a-f]{32}$")]
#: Names of legs that took no part or were stopped, and `primary_unreachable` for an answer from a standby.
Degraded = tuple[Annotated[str, Keyword("enum", ["lexical", "vector", "exact", "primary_unreachable"])], ...]
