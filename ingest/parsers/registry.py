"""The parsers by name, and the ladder that falls back from one to the next."""

import logging
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from ingest.parsers.code import parse_code
from ingest.parsers.content_type import identify
from ingest.parsers.errors import ParseRefused
from ingest.parsers.file_types import type_by_name
from ingest.parsers.html import parse_html
from ingest.parsers.language import UNDETERMINED, language_of
from ingest.parsers.markdown import parse_markdown
from ingest.parsers.text import parse_structured, parse_text
from ingest.parsers.titles import title_of
from ingest.parsers.types import FileType, Outline, ParsedDocument

logger = logging.getLogger(__name__)

Parser = Callable[[bytes, FileType], Outline]

PARSERS: Final[Mapping[str, Parser]] = MappingProxyType(
    {
        "markdown": parse_markdown,
        "html": parse_html,
        "structured": parse_structured,
        "code": parse_code,
        "text": parse_text,
    }
)
#: raised whenever a parser gives other lines, blocks, titles or languages for the same bytes
PARSER_VERSIONS: Final[Mapping[str, int]] = MappingProxyType(
    {"markdown": 1, "html": 1, "structured": 1, "code": 1, "text": 1}
)
#: what a file whose name says nothing may turn out to be
SNIFFED: Final = ("html", "code", "text")


def parser_version_for(path: str) -> str:
    """Version of everything that may read a file of this name; changes when one of its parsers does."""
    named = type_by_name(path)
    names = SNIFFED if named is None else named.parsers
    return "+".join(f"{name}/{PARSER_VERSIONS[name]}" for name in names)


def parse(content: bytes, path: str, *, first_rung: int = 0) -> ParsedDocument:
    """The parsed document; when a parser fails, the next simpler one reads it, with a warning.

    Args:
        content: the file's bytes.
        path: its POSIX path in the source.
        first_rung: how many parsers of the ladder to leave out, because they died on this content.

    Raises:
        ParseRefused: no parser reads such content (`no_parser`, `generated`, `minified`), or the
            ladder has no such rung (`no_rung`).
    """
    file = identify(content, path)
    ladder = file.parsers[first_rung:]
    if not ladder:
        raise ParseRefused("no_rung", f"{path} has {len(file.parsers)} parsers, none left to try")
    warnings: list[str] = []
    for name in ladder[:-1]:
        try:
            return _document(PARSERS[name](content, file), file, name, warnings)
        except (ParseRefused, MemoryError):
            raise  # without memory the next parser would fail too; it is tried in a fresh process
        except Exception as error:
            logger.warning("parser %s failed on %s", name, path, exc_info=True)
            warnings.append(f"the {name} parser failed ({type(error).__name__}); read as plain text")
    return _document(PARSERS[ladder[-1]](content, file), file, ladder[-1], warnings)


def _document(outline: Outline, file: FileType, parser: str, warnings: list[str]) -> ParsedDocument:
    # a language says how prose is stemmed and embedded; code and data have none
    is_prose = file.media != "code" and file.language is None
    return ParsedDocument(
        title=title_of(outline, file),
        lang=language_of(outline) if is_prose else UNDETERMINED,
        outline=outline,
        mime=file.mime,
        media=file.media,
        language=file.language,
        parser=parser,
        metadata=outline.metadata,
        tags=outline.tags,
        warnings=(*warnings, *outline.warnings),
    )
