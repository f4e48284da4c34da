"""The cited place in a document, parsed from the address of its page."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

_NUMBER = re.compile(r"[0-9]{1,9}")
#: The value of the `view` parameter for source lines.
SOURCE_VIEW = "source"
_CHUNK_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedRange:
    """The cited place in a document; None for what the address doesn't give."""

    #: Lines, from 1, both included.
    start: int | None
    end: int | None
    chunk_id: str | None
    #: The first line, page or cue to show, or the ordinal of the first passage.
    first: int | None
    #: Whether to show source lines of a document that would otherwise be rendered.
    is_source: bool = False

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, str]) -> "CitedRange":
        """Parse query parameters; invalid numbers and ids count as missing."""
        start = _number(parameters.get("start"))
        end = _number(parameters.get("end"))
        chunk_id = parameters.get("chunk", "")
        return cls(
            start=start or None,
            end=max(start, end or start) if start else None,
            chunk_id=chunk_id if _CHUNK_ID.fullmatch(chunk_id) else None,
            first=_number(parameters.get("from")),
            is_source=parameters.get("view") == SOURCE_VIEW,
        )

    @property
    def parameters(self) -> dict[str, object]:
        """Return the query parameters that name the place."""
        view = SOURCE_VIEW if self.is_source else None
        parameters = {"start": self.start, "end": self.end, "chunk": self.chunk_id, "view": view}
        return {name: value for name, value in parameters.items() if value is not None}

    def address(self, first: int | None = None) -> str:
        """Return the query string that shows the place, or the document from line or passage `first` on."""
        return urlencode(self.parameters if first is None else {**self.parameters, "from": first})


class ShownPart:
    """The part of a document on a page, with links to the cited place and to the parts before and after."""

    __slots__ = ()

    cited: CitedRange
    if TYPE_CHECKING:  # fields or properties

        @property
        def earlier(self) -> int | None:
            """Return the first line, page, cue or passage of the previous part; None at the start."""

        @property
        def later(self) -> int | None:
            """Return that of the next part; None at the end."""

    @property
    def earlier_address(self) -> str | None:
        """Return the query string of the previous part."""
        return None if self.earlier is None else self.cited.address(self.earlier)

    @property
    def later_address(self) -> str | None:
        """Return the query string of the next part."""
        return None if self.later is None else self.cited.address(self.later)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and _NUMBER.fullmatch(text) else None
