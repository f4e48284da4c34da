"""Catalogues of GNU gettext (`.po`, `.pot`): each string with its comments, context and translations."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ingest.parsers.decode import decode, split_lines
from ingest.parsers.outline_writer import SectionWriter, one_line
from ingest.parsers.stated_metadata import stated_metadata
from ingest.parsers.types import FileType, LineSpan, Outline

#: a string, behind its keyword unless it goes on from the line above
STRING: Final = re.compile(r'(?:(msgctxt|msgid_plural|msgid|msgstr)(?:\[\d+\])?)?\s*"(.*)"')
#: entries that are no longer used, and former strings
OLD: Final = re.compile(r'#[~|][^"]*"(.*)"')
ESCAPE: Final = re.compile(r"\\(.)")
LETTERS: Final = dict.fromkeys("abfnrtv", "\n")


@dataclass(slots=True)
class _Field:
    """A comment (`#`) or a string of an entry, by its keyword."""

    keyword: str
    text: list[str]
    span: LineSpan


def parse_gettext(content: bytes, file: FileType) -> Outline:
    """Return the strings of a catalogue, a block for each, and what its header states.

    Raises:
        ValueError: the file has none, or lines of another format.
    """
    lines = [line.strip() for line in split_lines(decode(content).removeprefix("\ufeff"))]
    writer = SectionWriter()
    header: dict[str, str] = {}
    for entry in _entries(lines):
        texts = {field.keyword: "".join(field.text) for field in entry}
        if texts.get("msgid") == "" and not header:
            stated = (field.partition(":") for field in texts.get("msgstr", "").split("\n"))
            header = {name: value.strip() for name, _, value in stated}
            writer.omitted("comments", [field.keyword for field in entry].count("#"))
        else:
            facts = ((one_line("".join(field.text)), field) for field in entry)
            writer.add(
                "",
                entry[0].span,
                [(_say_context(text, each.keyword), each.span) for text, each in facts if text],
            )
    if not writer.lines:
        raise ValueError("it lacks strings")
    for found in filter(None, map(OLD.fullmatch, lines)):
        writer.omitted("deleted_text", len(found[1]))
    by_whom, when = header.get("Last-Translator"), header.get("PO-Revision-Date", "")
    return writer.outline(metadata=stated_metadata({"author": by_whom, "modified": when[:10]}))


def _entries(lines: Sequence[str]) -> Iterator[list[_Field]]:
    """Yield the fields of each entry. Raises ValueError for a line of another format."""
    entry: list[_Field] = []
    for number, line in enumerate(lines, start=1):
        found = STRING.fullmatch(line)
        if found is None and line and not line.startswith("#"):
            raise ValueError(f"line {number} has another format")
        if found is None and not line.startswith(("# ", "#.")):
            continue
        keyword, text = ("#", line[2:]) if found is None else (found[1], _unescape(found[2]))
        if keyword is None and entry:
            entry[-1].text.append(text)
            entry[-1].span = LineSpan(entry[-1].span.start, number)
            continue
        if keyword in ("#", "msgctxt", "msgid") and entry and entry[-1].keyword == "msgstr":
            yield entry
            entry = []
        entry.append(_Field(keyword or "", [text], LineSpan(number, number)))
    if entry:
        yield entry


def _say_context(text: str, keyword: str) -> str:
    return f"Context: {text}" if keyword == "msgctxt" else text


def _unescape(text: str) -> str:
    return ESCAPE.sub(lambda found: LETTERS.get(found[1], found[1]), text)
