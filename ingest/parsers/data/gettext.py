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
COMMENTS: Final = ("# ", "#.")
#: entries that are no longer used, and former strings
OLD: Final = ("#~", "#|")
#: fields that begin an entry
BEGINNINGS: Final = frozenset({"#", "msgctxt", "msgid"})
ESCAPE: Final = re.compile(r"\\(.)")
LETTERS: Final = dict.fromkeys("abfnrtv", "\n")


@dataclass(slots=True)
class _Field:
    """A comment (`#`) or a string of an entry, by its keyword."""

    keyword: str
    pieces: list[str]
    span: LineSpan

    @property
    def text(self) -> str:
        return "".join(self.pieces)


def parse_gettext(content: bytes, file: FileType) -> Outline:
    """Return the strings of a catalogue, a block for each, and what its header states.

    Raises:
        ValueError: the file has none, or lines of another format.
    """
    lines = [line.strip() for line in split_lines(decode(content).removeprefix("\ufeff"))]
    writer = SectionWriter()
    stated: dict[str, str] = {}
    for entry in _entries(lines):
        texts = {field.keyword: field.text for field in entry}
        if texts.get("msgid") == "" and not stated:
            header = (field.partition(":") for field in texts.get("msgstr", "").split("\n"))
            stated = {name: value.strip() for name, _, value in header}
            writer.omitted("comments", len([field for field in entry if field.keyword == "#"]))
        else:
            writer.add("", entry[0].span, _facts(entry))
    if not writer.lines:
        raise ValueError("it lacks strings")
    for line in lines:
        if line.startswith(OLD):
            writer.omitted("deleted_text", len(line.partition('"')[2].removesuffix('"')))
    by_whom, when = stated.get("Last-Translator"), stated.get("PO-Revision-Date", "")
    return writer.outline(metadata=stated_metadata({"author": by_whom, "modified": when[:10]}))


def _entries(lines: Sequence[str]) -> Iterator[list[_Field]]:
    """Yield the fields of each entry. Raises ValueError for a line of another format."""
    entry: list[_Field] = []
    for number, line in enumerate(lines, start=1):
        span = LineSpan(number, number)
        if line.startswith("#") or not line:
            field = _Field("#", [line[2:]], span) if line.startswith(COMMENTS) else None
        elif (found := STRING.fullmatch(line)) is None:
            raise ValueError(f"line {number} is no string")
        else:
            field = _Field(found[1] or "", [_unescape(found[2])], span)
        if field is None:
            continue
        if not field.keyword and entry:
            entry[-1].pieces += field.pieces
            entry[-1].span = LineSpan.around([entry[-1].span, span])
            continue
        if field.keyword in BEGINNINGS and entry and entry[-1].keyword == "msgstr":
            yield entry
            entry = []
        entry.append(field)
    if entry:
        yield entry


def _facts(entry: Sequence[_Field]) -> Iterator[tuple[str, LineSpan]]:
    for field in entry:
        if shown := one_line(field.text):
            yield f"Context: {shown}" if field.keyword == "msgctxt" else shown, field.span


def _unescape(text: str) -> str:
    return ESCAPE.sub(lambda found: LETTERS.get(found[1], found[1]), text)
