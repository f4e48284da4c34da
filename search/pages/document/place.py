"""Words for the cited place of a document: lines where readers see lines, else a page or a passage."""

from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _

from search.models import Chunk, Document, MediaKind
from search.pages.document.cited_range import CitedRange

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
