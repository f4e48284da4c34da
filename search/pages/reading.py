"""What a document's page shows: a window of its lines, or of its passages where lines mean nothing."""

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from search.blobs import open_blob
from search.lines import LineWindow, read_lines
from search.models import Chunk, Document, MediaKind

#: So much is shown at once; the cited place begins LEAD into it.
WINDOW_LINES, LEAD_LINES = 400, 60
WINDOW_PASSAGES, LEAD_PASSAGES = 30, 5
_HAS_LINES = frozenset({MediaKind.TEXT, MediaKind.CODE})
_NUMBER = re.compile(r"[0-9]{1,9}")
_CHUNK_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cited:
    """The place in a document that an address names; None where it names none."""

    #: Lines, from 1, both included.
    start: int | None
    end: int | None
    chunk_id: str | None
    #: The first line, or the ordinal of the first passage, that is to be shown.
    first: int | None

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
        )

    def address(self, first: int | None = None) -> str:
        """Give the query string that shows the place, or the document from another line or passage on."""
        named = {"start": self.start, "end": self.end, "chunk": self.chunk_id, "from": first}
        return urlencode({name: value for name, value in named.items() if value is not None})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A window of a document: lines or passages, which of them are cited, and where it goes on."""

    cited: Cited
    window: LineWindow | None
    passages: tuple[Chunk, ...]
    first: int
    last: int
    total: int
    #: From where the window before and the one after begin; None at either end.
    earlier: int | None
    later: int | None

    @property
    def cited_address(self) -> str:
        """The query string of the window around the cited place."""
        return self.cited.address()

    @property
    def earlier_address(self) -> str | None:
        """The query string of the window before."""
        return None if self.earlier is None else self.cited.address(self.earlier)

    @property
    def later_address(self) -> str | None:
        """The query string of the window after."""
        return None if self.later is None else self.cited.address(self.later)


def read_document(document: Document, cited: Cited) -> Reading:
    """Give what the page shows of `document`, around the cited place.

    Without its bytes, as when it is being replaced this moment, the passages are shown instead.
    """
    if document.media in _HAS_LINES:
        try:
            return _read_lines(document, cited)
        except FileNotFoundError:
            pass
    return _read_passages(document, cited)


def _read_lines(document: Document, cited: Cited) -> Reading:
    first = max(1, cited.first or (cited.start or 1) - LEAD_LINES)
    if cited.first is None and (cited.end or 1) <= WINDOW_LINES:
        first = 1
    with open_blob(document.workspace_id, document.content_hash) as content:
        window = read_lines(content, first=first, count=WINDOW_LINES)
    last = first + len(window.lines) - 1
    return Reading(
        cited=cited,
        window=window,
        passages=(),
        first=first,
        last=last,
        total=window.total,
        earlier=max(1, min(first, window.total + 1) - WINDOW_LINES) if first > 1 else None,
        later=last + 1 if last < window.total and window.lines else None,
    )


def _read_passages(document: Document, cited: Cited) -> Reading:
    chunks = Chunk.objects.in_workspace(document.workspace_id).filter(document=document)
    first = cited.first if cited.first is not None else _ordinal(chunks, cited) - LEAD_PASSAGES
    first = max(0, first)
    passages = tuple(chunks.filter(ordinal__gte=first).order_by("ordinal")[:WINDOW_PASSAGES])
    total = chunks.count()
    last = first + len(passages)
    return Reading(
        cited=cited,
        window=None,
        passages=passages,
        first=first + 1,
        last=last,
        total=total,
        earlier=max(0, min(first, total) - WINDOW_PASSAGES) if first > 0 else None,
        later=last if last < total and passages else None,
    )


def _ordinal(chunks: Any, cited: Cited) -> int:
    if cited.chunk_id is None:
        return 0
    ordinals = chunks.filter(chunk_id=uuid.UUID(hex=cited.chunk_id)).values_list("ordinal", flat=True)
    return ordinals.first() or 0


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and _NUMBER.fullmatch(text) else None
