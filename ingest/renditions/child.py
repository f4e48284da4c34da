"""Program of the sandboxed process that draws documents.

Run as `python -m ingest.renditions.child`, by `ingest.renditions.draw`.
"""

from collections.abc import Iterator
from typing import Any

from ingest.parsers.decode import decode
from ingest.parsers.errors import ParseRefused
from ingest.parsers.registry import parse
from ingest.parsers.types import PageSpan, ParsedDocument
from ingest.renditions import parts
from ingest.renditions.from_blocks import parts_of_blocks, parts_of_notebook, parts_of_table
from ingest.renditions.parts import Part
from kebab.sandbox.child import serve
from kebab.sandbox.program import Header


def handle(header: Header, content: bytes) -> Iterator[Header]:
    """Yield the rendition of a document, None if no parser reads it."""
    try:
        yield {"rendition": draw(content, header["path"])}
    except ParseRefused:
        yield {"rendition": None}


def draw(content: bytes, path: str) -> dict[str, Any]:
    """Return the parts of a document, and the first lines of its pages. Raises ParseRefused."""
    parsed = parse(content, path)
    drawn, is_cut = _bounded(_parts_of(parsed, content))
    origins = parsed.outline.origins or ()
    pages: dict[int, int] = {}
    for number, origin in enumerate(origins, start=1):
        if isinstance(origin, PageSpan):
            pages.setdefault(origin.page, number)
    return {
        "parts": drawn,
        "is_cut": is_cut,
        "pages": list(pages.items()),
        "lines": len(parsed.outline.lines),
    }


def _parts_of(parsed: ParsedDocument, content: bytes) -> Iterator[Part]:
    if parsed.parser == "html":
        from ingest.renditions.from_html import parts_of_html

        return parts_of_html(decode(content), parsed.outline)
    if parsed.parser == "rst":
        from ingest.renditions.from_rst import parts_of_rst  # docutils takes a while to import

        return parts_of_rst(parsed.outline.lines)
    if parsed.parser == "notebook":
        return parts_of_notebook(parsed.outline)
    if parsed.parser == "table":
        return parts_of_table(parsed.outline)
    is_mail = parsed.media == "email"
    return parts_of_blocks(parsed.outline, is_mail=is_mail, subject=parsed.title if is_mail else None)


def _bounded(found: Iterator[Part]) -> tuple[list[Part], bool]:
    """Return the parts within the limits of number and size, and whether any are left out."""
    kept: list[Part] = []
    chars = 0
    for part in found:
        part["size"] = parts.size(part)
        chars += part["size"]
        if len(kept) >= parts.MAX_PARTS or chars > parts.MAX_CHARS:
            return kept, True
        kept.append(part)
    return kept, False


if __name__ == "__main__":
    serve(handle)
