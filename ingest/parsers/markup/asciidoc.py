"""AsciiDoc: sections, lists, tables and blocks by their lines, without attributes and comments."""

import re
from collections.abc import Iterator

from ingest.parsers.decode import decode, split_lines
from ingest.parsers.markup.line_outline import LineOutline, PlacedLine, next_after, table_row
from ingest.parsers.stated_metadata import stated_metadata
from ingest.parsers.types import FileType, Outline

HEADING = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*)")
UNDERLINE = re.compile(r"(=+|-+|~+|\^+|\++)\s*$")
UNDERLINES = "=-~^+"
#: first characters of the lines that end listings and tables
DELIMITERS = frozenset("-.`/+|,:!")
ATTRIBUTE = re.compile(r":(!?[\w-]+!?):(?:[ \t]++(.*))?$")
_AUTHOR = r"[^\W\d][\w.' -]{0,80}(?: <[^<>\s]{1,80}>)?"
AUTHOR = re.compile(rf"{_AUTHOR}(?:; *+{_AUTHOR}){{0,20}}$")
REVISION = re.compile(r"(?:v?[\d.]{1,20}\w{0,20},)?\s{0,9}([^:,]{0,40}\d{4}[^:,]{0,40})?(?::.*)?$")
#: lines of a block that is never closed to its end
LISTING = re.compile(r"(-{4,}|\.{4,}|`{3,}|/{4,}|\+{4,})(\w*)\s*$")
CONTAINER = re.compile(r"(?:={4,}|\*{4,}|_{4,}|--)\s*$")
TABLE = re.compile(r"[|,:!]={3,}\s*$")
BLOCK_ATTRIBUTES = re.compile(r"\[([^\]\n]*)\]\s*$")
LANGUAGE = re.compile(r"(?:source|,)\s*(?:%\w+)?,\s*([\w+#.-]+)")
ADMONITION = re.compile(r"(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\b")
DIRECTIVE = re.compile(
    r"(?:include|ifdef|ifndef|ifeval|endif|toc|video|audio)::[^\s\[]*\[.*\]\s*$|'{3,}\s*$|<{3}\s*$|\+\s*$"
)
IMAGE = re.compile(r"image::?([^\s\[]{0,300})\[([^\],]{0,300}+)[^\]]{0,300}\]")
ITEM = re.compile(r"\s*(?:[*]{1,5}|-|\.{1,5}|\d+\.|[a-zA-Z]\.|<[\d.]+>)[ \t]+\S")
TERM = re.compile(r"(\S.*?)(?:(?<!:)::++|;;)(?:[ \t]++(.*))?$")
CELL = re.compile(r"(?:\d{0,4}(?:\.\d{1,4})?[+*])?(?:[<^>.]{0,4}[a-z]?)?(?<!\\)\|")
INLINE = (
    (re.compile(r"(?:link|mailto|xref):[^\s\[]{1,300}\[([^\]\n]{0,500})\]"), r"\1"),
    (re.compile(r"(https?://[^\s\[\]]{1,300})\[([^\],^\n]{0,500}+)[^\]\n]{0,500}\]"), r"\2"),
    (re.compile(r"<<[^<>,\n]{1,300},\s*([^<>\n]{1,300})>>"), r"\1"),
    (re.compile(r"<<#?([^<>,\n]{1,300})>>"), r"\1"),
    (re.compile(r"footnote(?:ref)?:\w*\[([^\]\n]{0,500})\]"), r" (\1)"),
    (re.compile(r"(?:kbd|btn|menu|stem|latexmath|asciimath|pass):\w*\[([^\]\n]{0,500})\]"), r"\1"),
    (re.compile(r"\[\[[^\]\n]{0,500}\]\]|\[[.#][\w.# -]{0,80}\](?=[#*_`])"), ""),
)
REFERENCE = re.compile(r"(?<!\\)\{([\w-]+)\}")
MAX_COLUMNS = 100
#: characters of attributes that are written in place of their names in one file
MAX_REFERENCE_CHARS = 1_000_000


def parse_asciidoc(content: bytes, file: FileType) -> Outline:
    """Return an AsciiDoc file with the title, author and date of its header."""
    reader = _AsciiDocReader(split_lines(decode(content)))
    reader.read()
    attributes = reader.attributes
    stated = {
        "author": [
            name.strip() for name in attributes.get("author", attributes.get("authors", "")).split(";")
        ],
        "date": attributes.get("date") or attributes.get("revdate") or attributes.get("docdate"),
    }
    keywords = [tag.strip() for tag in attributes.get("keywords", "").split(",") if tag.strip()]
    return reader.written.finish(
        title=attributes.get("title") or None, metadata=stated_metadata(stated), tags=keywords
    )


class _AsciiDocReader:
    """Reader of the lines into an outline."""

    def __init__(self, lines: list[str]) -> None:
        self.written = LineOutline()
        self.attributes: dict[str, str] = {}
        self._lines = lines
        #: of the next block, from the line in brackets above it
        self._language: str | None = None
        self._label = ""
        #: the last line is a term whose definition is on the next one
        self._is_term = False
        #: places of the lines that may end a block, by their text
        self._delimiters: dict[str, list[int]] = {}
        for number, line in enumerate(lines):
            if line[:1] in DELIMITERS:
                self._delimiters.setdefault(line.rstrip(), []).append(number)
        self._left_chars = MAX_REFERENCE_CHARS

    def read(self) -> None:
        """Read all lines."""
        index = self._read_header()
        while index < len(self._lines):
            index += self._read_listing(index) or self._read_table(index) or self._read_line(index)

    def _read_header(self) -> int:
        """Read title, author and revision at the top; return the number of their lines."""
        index = 0
        while index < len(self._lines) and self._is_aside(self._lines[index]):
            index += 1
        level, title = _read_heading(self._lines[index]) if index < len(self._lines) else (0, "")
        if level != 1:
            return index
        self.written.add_heading(self._inline(title), 1, index + 1)
        index += 1
        for pattern, name in ((AUTHOR, "author"), (REVISION, "revdate")):
            line = self._lines[index] if index < len(self._lines) else ""
            is_stated = line.strip() and not line.startswith((":", "//"))
            found = pattern.match(line.rstrip()) if is_stated else None
            if found is None:
                break
            self.attributes.setdefault(name, (found[1] or "").strip() if name == "revdate" else line.strip())
            index += 1
        while index < len(self._lines) and self._is_aside(self._lines[index]) and self._lines[index].strip():
            index += 1
        return index

    def _is_aside(self, line: str) -> bool:
        """Return whether a line is blank, a comment or an attribute, which is kept."""
        attribute = ATTRIBUTE.match(line)
        if attribute is not None:
            self.attributes.setdefault(attribute[1], self._inline(attribute[2] or ""))
        return attribute is not None or not line.strip() or bool(re.match(r"//(?!/)", line))

    def _read_listing(self, index: int) -> int:
        """Read a delimited block of code, or skip a comment; return the number of its lines, 0 for none."""
        begin = LISTING.match(self._lines[index])
        if begin is None or (begin[2] and begin[1][0] != "`"):
            return 0
        end = next_after(self._delimiters.get(begin[1], ()), index)
        if end is None:
            return 1
        if begin[1][0] in "-.`":
            code = [
                (line, number) for number, line in enumerate(self._lines[index + 1 : end], start=index + 2)
            ]
            self.written.add_block("code", code, begin[2] or self._language)
        self.written.end_block()
        self._language = None
        return end - index + 1

    def _read_table(self, index: int) -> int:
        if not TABLE.match(self._lines[index]):
            return 0
        mark = self._lines[index].rstrip()
        end = next_after(self._delimiters.get(mark, ()), index) or len(self._lines)
        self.written.add_block("table", list(self._rows(index + 1, end, mark[0])))
        return end - index + 1

    def _rows(self, first: int, end: int, separator: str) -> Iterator[PlacedLine]:
        """Yield the rows; where each cell has a line of its own, as many make one as the first line has."""
        columns = 0
        cells: list[list[str]] = []
        start = first + 1
        for number in range(first, end):
            line = self._inline(self._lines[number].strip())
            if separator != "|":
                yield table_row(line.split({",": ",", ":": ":", "!": "!"}[separator])), number + 1
                continue
            before, *found = CELL.split(line)
            if before and cells:
                cells[-1].append(before)
            start = start if cells else number + 1
            cells += [[text] for text in found]
            columns = columns or min(MAX_COLUMNS, len(found))
            if cells and (len(cells) >= columns > 1 or not line):
                yield table_row(map(" ".join, cells)), start
                cells = []
        if cells:
            yield table_row(map(" ".join, cells)), start

    def _read_line(self, index: int) -> int:
        line, number, written = self._lines[index], index + 1, self.written
        text = line.strip()
        below = self._lines[index + 1] if index + 1 < len(self._lines) else ""
        level, heading = _read_heading(line)
        if level:
            written.add_heading(self._inline(heading), level, number)
        elif written.open_kind is None and _is_underlined(line, below):
            written.add_heading(self._inline(text), UNDERLINES.index(below[0]) + 1, number)
            return 2
        elif LISTING.match(line) or CONTAINER.match(line) or DIRECTIVE.match(line) or self._is_aside(line):
            written.end_block() if text != "+" else None
        elif (attributes := BLOCK_ATTRIBUTES.match(line)) is not None:
            self._read_block_attributes(attributes[1])
        elif re.match(r"\.[^\s.]", line):
            written.end_block()
            written.add(self._inline(text[1:]), number)
            written.end_block()
        else:
            self._read_text(line, number)
        return 1

    def _read_block_attributes(self, attributes: str) -> None:
        self.written.end_block()
        language = LANGUAGE.search(attributes)
        self._language = language[1].lower() if language else None
        label = ADMONITION.match(attributes)
        self._label = f"{label[1]}: " if label else ""

    def _read_text(self, line: str, number: int) -> None:
        written, text = self.written, self._label + self._inline(line)
        self._label = ""
        is_continued = written.open_kind == "list"
        is_definition, self._is_term = self._is_term and is_continued, False
        term = TERM.match(line.strip())
        if ITEM.match(line):
            written.add(text, number, "list")
        elif term is not None and "://" not in term[0] and (term[2] is None or not term[2].startswith(":")):
            written.add(self._inline(f"{term[1]}: {term[2] or ''}"), number, "list")
            self._is_term = not term[2]
        elif is_definition:
            written.extend(text)
        elif line[0].isspace() and not is_continued:
            written.add(line, number, "code")
        else:
            written.add(text.strip(), number, "list" if is_continued else "paragraph")

    def _inline(self, text: str) -> str:
        """Return text with the words of links, pictures and attributes."""
        text = IMAGE.sub(lambda image: image[2].strip("\"' "), text)
        for pattern, words in INLINE:
            text = pattern.sub(words, text)
        return REFERENCE.sub(self._attribute, text)

    def _attribute(self, name: re.Match[str]) -> str:
        """Return the beginning of an attribute's value, its name once too much was written so."""
        value = self.attributes.get(name[1], name[0])[:500]
        self._left_chars -= len(value)
        return value if self._left_chars >= 0 else name[0]


def _read_heading(line: str) -> tuple[int, str]:
    """Return the level and the text of a heading, 0 for any other line."""
    found = HEADING.match(line)
    if found is None:
        return 0, ""
    text = found[2].rstrip()
    before = text.removesuffix(found[1])
    return len(found[1]), before.rstrip() if before[-1:].isspace() else text


def _is_underlined(line: str, below: str) -> bool:
    """Return whether a line is a title with a line of signs of about its length below it."""
    return (
        bool(UNDERLINE.match(below))
        and len(below.rstrip()) > 2
        and abs(len(below.rstrip()) - len(line.rstrip())) <= 2
        and any(map(str.isalnum, line))
        and not line[0].isspace()
        and not BLOCK_ATTRIBUTES.match(line)
    )
