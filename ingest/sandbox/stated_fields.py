"""What a person or source says of a document goes before what the parser found."""

from dataclasses import replace

from ingest.parsers.types import ParsedDocument
from ingest.sandbox.types import Overrides


def with_title(parsed: ParsedDocument, title: str | None) -> ParsedDocument:
    """Return the document under another title, so that its breadcrumbs begin with it; None keeps its own."""
    return parsed if title is None else replace(parsed, title=title)


def with_overrides(parsed: ParsedDocument, overrides: Overrides) -> ParsedDocument:
    """Return the document with the language, tags and media stated for it; what is None stays as parsed."""
    return replace(
        parsed,
        lang=parsed.lang if overrides.lang is None else overrides.lang,
        tags=parsed.tags if overrides.tags is None else tuple(overrides.tags),
        media=parsed.media if overrides.media is None else overrides.media,
    )
