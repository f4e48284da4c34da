"""Rich text (RTF): its paragraphs and rows, title, author and dates."""

import datetime
import re
from typing import Final

from ingest.parsers.decode import UNSAFE
from ingest.parsers.errors import ParseRefused
from ingest.parsers.office.titles import sensible_title
from ingest.parsers.outline_writer import CELL_BORDER, OutlineWriter, one_line
from ingest.parsers.stated_metadata import stated_metadata
from ingest.parsers.types import FileType, Outline
from search.documents.charset import REPLACEMENT

#: More than any document has; the library keeps the whole text with its marks in memory.
MAX_BYTES: Final = 64 * 1024**2
_INFO: Final = re.compile(rb"\\info\b(?:[^{}]|\{[^{}]*\}){0,200}")
_PICTURES: Final = re.compile(rb"(?:[0-9a-fA-F]{2}[ \r\n]*+){200,}+")
#: the library leaves out notes; they are read in their places
_NOTE: Final = re.compile(rb"\{(?:\\\*)?\\footnote\b(?:\\ftnalt\b)?")
_CHARSET: Final = re.compile(rb"\\ansicpg(\d{3,5})")
_TIME: Final = re.compile(rb"\\(yr|mo|dy|hr|min)(\d{1,4})")
_HEADING_STYLE: Final = re.compile(
    rb"\{\\s(\d{1,4})\b[^{}]*?\b(?:heading|berschrift|titre|t[^{};]{1,8}tulo|titolo) ?([1-6]);\}",
    re.IGNORECASE,
)
#: The beginning of a paragraph with a style, and the commands behind it. Not possessive: Python 3.11.2, which
#: Debian 12 has, misreads such groups.
_STYLED: Final = re.compile(
    rb"(\\pard\b(?:\\(?!s\d|pard\b)[a-z*]+-?\d* ?)*\\s(\d{1,4})\b)((?:\\(?!pard\b)[a-z]+-?\d*)*) ?"
)
#: Marks a heading in the text; the library passes control characters on.
_MARK: Final = "\x01"


def parse_rtf(content: bytes, file: FileType) -> Outline:
    """Return the readable text of an RTF file; the lines are the outline's own.

    Raises:
        ParseRefused: it has more than MAX_BYTES (`too_large`).
    """
    if len(content) > MAX_BYTES:
        raise ParseRefused("too_large", f"the file has more than {MAX_BYTES // 1024**2} MB of rich text")
    from striprtf.striprtf import rtf_to_text

    charset = _CHARSET.search(content)
    encoding = f"cp{charset[1].decode()}" if charset else "cp1252"
    # digits of pictures, which the library would step through
    source = _mark_headings(_NOTE.sub(b"{ ", _PICTURES.sub(b"", content))).decode("latin-1")
    try:
        text = rtf_to_text(source, encoding=encoding, errors="replace")
    except LookupError:
        text = rtf_to_text(source, encoding="cp1252", errors="replace")
    writer = OutlineWriter()
    rows: list[str] = []
    for line in text.split("\n"):
        if "|" in line and line.rstrip().endswith("|"):
            rows.append(CELL_BORDER.join(one_line(cell) for cell in line.rstrip().rstrip("|").split("|")))
            continue
        writer.write_block("table", rows)
        rows = []
        if line.startswith(_MARK) and line[1:2].isdecimal():
            writer.write_heading(line[2:].replace(_MARK, ""), int(line[1]))
        else:
            writer.write_block("paragraph", [one_line(line.replace(_MARK, ""))])
    writer.write_block("table", rows)
    title, metadata = _properties(content, encoding)
    return writer.outline(title=title, metadata=metadata)


def _mark_headings(content: bytes) -> bytes:
    """Put a mark with the level before the text of each paragraph of a heading style."""
    levels: dict[bytes, bytes] = dict(_HEADING_STYLE.findall(content[: 1024**2]))
    if not levels:
        return content

    def mark(found: re.Match[bytes]) -> bytes:
        level = levels.get(found[2])
        return found[0] if level is None else found[1] + found[3] + b" \\'01" + level

    return _STYLED.sub(mark, content)


def _properties(content: bytes, encoding: str) -> tuple[str | None, dict[str, str]]:
    found = _INFO.search(content[: 1024**2])
    info = found[0] if found else b""

    def stated(name: bytes) -> str:
        group = re.search(rb"\{\\(?:\*\\)?%s ?([^{}]*)\}" % name, info)
        if group is None:
            return ""
        from striprtf.striprtf import rtf_to_text

        text = rtf_to_text(f"{{\\rtf1 {group[1].decode('latin-1')}}}", encoding=encoding, errors="replace")
        return UNSAFE.sub(REPLACEMENT, one_line(text)[:500])

    return sensible_title(stated(b"title")), stated_metadata(
        {
            "author": stated(b"author"),
            "created": _moment(b"creatim", info),
            "modified": _moment(b"revtim", info),
        }
    )


def _moment(name: bytes, info: bytes) -> str:
    group = re.search(rb"\{\\%s([^{}]*)\}" % name, info)
    parts = {key: int(number) for key, number in _TIME.findall(group[1])} if group else {}
    year, month, day, hour, minute = (parts.get(name, 0) for name in (b"yr", b"mo", b"dy", b"hr", b"min"))
    try:
        return datetime.datetime(year, month, day, hour, minute).isoformat()
    except ValueError:
        return ""
