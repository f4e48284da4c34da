"""Titles of documents, from the first of these: stated title, first H1, first H2, first line, file stem."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from ingest.parsers.types import Block, FileType, Outline
from search.markup.plain_text import plain_text
from search.retrieval.text.plain_text import SEPARATOR, read_plain_text

TITLE_CHARS = 200
FIRST_LINE_CHARS = 80
#: characters of a line that are read, with its markup
MARKED_CHARS = 1_000
MARKS = "#>*-+= \t"
#: the id of a page that Notion adds to the names of files
PAGE_ID = re.compile(r"(?<=.) [0-9a-f]{32}(?:_all)?(?=\.\w+$)")
SKIPPED_STARTS = ("import ", "export ", "<", "---", "```", "~~~", "|")


def title_of(outline: Outline, file: FileType) -> str:
    """Return the title of a document; that of a code file is its path, that of a data file its name."""
    if outline.title:
        return outline.title[:TITLE_CHARS]
    if file.media == "code":
        return file.path[-TITLE_CHARS:]
    name = PurePosixPath(PAGE_ID.sub("", PurePosixPath(file.path).name))
    if file.language is not None:
        return name.name[:TITLE_CHARS]
    heading = _first_heading(outline.blocks, 1) or _first_heading(outline.blocks, 2)
    return heading or _first_line(outline, file.path) or name.stem[:TITLE_CHARS]


def _first_heading(blocks: Sequence[Block], level: int) -> str | None:
    for block in blocks:
        if block.kind == "heading" and block.level == level and block.text:
            return block.text[:TITLE_CHARS]
    return None


def _first_line(outline: Outline, path: str) -> str | None:
    for block in outline.blocks:
        if block.kind in ("front_matter", "html", "table", "code"):
            continue
        for line in outline.lines[block.span.start - 1 : block.span.end]:
            marked = line[:MARKED_CHARS].strip()
            if marked.lstrip(MARKS).startswith(SKIPPED_STARTS):
                continue
            plain = read_plain_text(plain_text(marked, path, is_code=False)).text
            text = plain.replace(SEPARATOR, "·").lstrip(MARKS)[:FIRST_LINE_CHARS].rstrip()
            if any(map(str.isalnum, text)):
                return text
    return None
