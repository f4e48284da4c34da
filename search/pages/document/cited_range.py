"""The place in a document that the address of its page names."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

_NUMBER = re.compile(r"[0-9]{1,9}")
#: What the address of the lines as they are written says.
SOURCE_VIEW = "source"
_CHUNK_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cited:
    """The place in a document that an address names; None where it names none."""

    #: Lines, from 1, both included.
    start: int | None
    end: int | None
    chunk_id: str | None
    #: The first line, page or cue, or the ordinal of the first passage, that is to be shown.
    first: int | None
    #: Whether the lines are wanted as they are written, of a document that would be rendered.
    is_source: bool = False

    @classmethod
    def in_address(cls, parameters: Mapping[str, str]) -> "Cited":
        """Read the parameters of an address; what is no number or id counts as missing."""
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
    def named(self) -> dict[str, object]:
        """Return what the address says of the place, by parameter."""
        view = SOURCE_VIEW if self.is_source else None
        stated = {"start": self.start, "end": self.end, "chunk": self.chunk_id, "view": view}
        return {name: value for name, value in stated.items() if value is not None}

    def address(self, first: int | None = None) -> str:
        """Return the query string that shows the place, or the document from another line or passage on."""
        return urlencode(self.named if first is None else {**self.named, "from": first})


class ShownPart:
    """What is shown of a document at once: the ways to its cited place, and to what is before and behind."""

    __slots__ = ()

    cited: Cited
    #: The first line, page, cue or passage of the part before and of the one after; None at either end.
    earlier: int | None
    later: int | None

    @property
    def cited_address(self) -> str:
        """Return the query string of the part with the cited place."""
        return self.cited.address()

    @property
    def earlier_address(self) -> str | None:
        """Return the query string of the part before."""
        return None if self.earlier is None else self.cited.address(self.earlier)

    @property
    def later_address(self) -> str | None:
        """Return the query string of the part after."""
        return None if self.later is None else self.cited.address(self.later)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and _NUMBER.fullmatch(text) else None
