"""Fields of a document stated by a person or source, which override those of the parser."""

from dataclasses import replace

from ingest.parsers.types import ParsedDocument
from ingest.sandbox.types import Overrides


def with_title(parsed: ParsedDocument, title: str | None) -> ParsedDocument:
    """Return the document with `title`, which also begins its breadcrumbs; None retains its own title."""
    return parsed if title is None else replace(parsed, title=title)


def with_overrides(parsed: ParsedDocument, overrides: Overrides) -> ParsedDocument:
    """Return the document with the stated language, tags and media; None retains the parsed value."""
    return replace(
        parsed,
        lang=parsed.lang if overrides.lang is None else overrides.lang,
        tags=parsed.tags if overrides.tags is None else tuple(overrides.tags),
        media=parsed.media if overrides.media is None else overrides.media,
    )
