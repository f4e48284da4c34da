"""The cited place in a document, parsed from the address of its page."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from django.utils.functional import Promise
from django.utils.translation import gettext as _

from search.models import Chunk, Document, MediaKind, SourceKind
from search.models.source_kind import STATING_ADDRESSES

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPart:
    """The part of a document on a page, with links to the cited place and to the parts before and after."""

    #: The name of the template that shows it.
    template: str
    cited: CitedRange
    #: The numbers of the lines or pages, or the ordinals of the passages; empty without an outline.
    shown_range: range = range(0)
    #: The first line, page, cue or passage of the previous and of the next part; None at either end.
    earlier: int | None = None
    later: int | None = None

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


#: Types whose lines only the source has.
_WITHOUT_LINES = frozenset({"text/html", "application/xhtml+xml", "application/x-ipynb+json"})
_BY_LINE = frozenset({MediaKind.TEXT, MediaKind.CODE})


def place_label(document: Document, cited: CitedRange, chunk: Chunk | None) -> "str | Promise":
    """Return the words for the cited place, such as "Lines 9–15" or "Passage 3 of 12"; '' without one."""
    has_lines = document.media in _BY_LINE and (cited.is_source or document.mime not in _WITHOUT_LINES)
    if has_lines and cited.start:
        if cited.start == cited.end:
            return _("Line %(start)d") % {"start": cited.start}
        return _("Lines %(start)d–%(end)d") % {"start": cited.start, "end": cited.end}
    if chunk is None:
        return ""
    page = _page_label(document, chunk.source_spans)
    if page:
        return page
    if chunk.section_label not in ("", document.title):
        return chunk.section_label[:100]
    total = Chunk.objects.in_workspace(document.workspace_id).filter(document=document).count()
    if total == 1:
        return _("Cited passage")
    return _("Passage %(number)d of %(total)d") % {"number": chunk.ordinal + 1, "total": total}


def _page_label(document: Document, spans: list[Any]) -> str:
    page = spans[0].get("page") if spans and spans[0].get("kind") == "page" else None
    if page is None or (document.media == MediaKind.OFFICE and "epub" in document.mime):
        return ""
    if document.media == MediaKind.PDF:
        return _("Page %(number)s") % {"number": page}
    if "presentation" in document.mime or "powerpoint" in document.mime:
        return _("Slide %(number)s") % {"number": page}
    return ""


#: Hosts whose addresses of files are known, with what stands before the branch.
_GIT_HOSTS: Final = {"github.com": "blob", "gitlab.com": "-/blob", "codeberg.org": "src/branch"}


def source_link(document: Document, cited: CitedRange) -> str:
    """Return where the document can be opened at its source; '' if that is unknown."""
    if document.source.kind == SourceKind.GIT:
        return _file_on_git_host(document, cited)
    return web_address(document.metadata.get("url")) if document.source.kind in STATING_ADDRESSES else ""


def web_address(value: object) -> str:
    """Return an address that a link may have; '' for any other value."""
    try:
        parts = urlsplit(value) if isinstance(value, str) else None
    except ValueError:
        return ""
    is_web = parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname)
    return str(value) if is_web else ""


def _file_on_git_host(document: Document, cited: CitedRange) -> str:
    address = web_address(document.source.config.get("url"))
    parts = urlsplit(address)
    before = _GIT_HOSTS.get(parts.hostname or "")
    if before is None:
        return ""
    repository = f"https://{parts.hostname}{parts.path.rstrip('/').removesuffix('.git')}"
    if parts.hostname == "github.com" and repository.endswith(".wiki"):
        # The repository of a wiki, whose pages all have their name as address, whatever their folder.
        return f"{repository.removesuffix('.wiki')}/wiki/{quote(PurePosixPath(document.path).stem)}"
    revision = document.version.tag or str(document.source.config.get("branch") or "HEAD")
    lines = f"#L{cited.start}" if cited.start and document.is_read_verbatim else ""
    return f"{repository}/{before}/{quote(revision)}/{quote(document.path)}{lines}"
