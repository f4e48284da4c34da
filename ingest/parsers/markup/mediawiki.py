"""MediaWiki text: headings, lists and tables by their lines, without templates, comments and tags."""

import html
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from ingest.parsers.decode import decode, split_lines
from ingest.parsers.markup.line_outline import LineOutline, PlacedLine, table_row
from ingest.parsers.types import FileType, Outline

ITEM = re.compile(r"[*#]+\s*")
TERM = re.compile(r";\s*+(.*?)(?:(?<!\s)\s*:\s++(.*))?$")
#: comments, and elements whose text is not read as wiki text
APART = re.compile(
    r"<!--(?:.|\n)*?(?:-->|\Z)|<(nowiki|pre|syntaxhighlight|source|math|code)\b([^<>]*)(?<!/)>((?:.|\n)*?)(?:</\1\s*>|\Z)"
    r"|<ref\b[^<>]*/>|<ref\b[^<>]*>(?:.|\n)*?(?:</ref\s*>|\Z)",
    re.IGNORECASE,
)
LANGUAGE = re.compile(r"\blang(?:uage)?\s*=\s*[\"']?([\w+#.-]+)")
BRACES = re.compile(r"\{\{\{?|\}\}\}?")
TITLE = re.compile(r"\{\{\s*DISPLAYTITLE\s*:\s*([^{}|]+)", re.IGNORECASE)
#: the first words in bold, above the first heading
SUBJECT = re.compile(r"(?:(?!=)[^\n]*\n){0,60}?(?!=)[^\n]*?'\'\'([^'\n\[{]{2,100})'\'\'")
#: innermost links, so that a picture's caption may hold some
LINK = re.compile(r"\[\[([^\[\]|]*)((?:\|[^\[\]]*)?)\]\]")
NOT_SHOWN = re.compile(
    r"\s*(?:category|kategorie|catégorie|categoría|categoria)\s*:|\s*[a-z]{2,3}(?:-[a-z]+)?:\S", re.I
)
CATEGORY = re.compile(r"\s*(?:category|kategorie|catégorie|categoría|categoria)\s*:\s*(.*)", re.IGNORECASE)
PICTURE = re.compile(r"\s*(?:file|image|datei|bild|fichier|archivo|media)\s*:", re.IGNORECASE)
OPTION = re.compile(
    r"\s*(?:thumb(?:nail)?|frame(?:d|less)?|border|left|right|center|none|upright\S*|mini|\d{0,6}x?\d{1,6}px|(?:alt|link|class|page|lang)=.*)\s*$"
)
EXTERNAL = re.compile(r"\[(?:https?:|mailto:|//)[^\s\]]{0,500}\s*([^\]\n]{0,500})\]")
TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
QUOTES = re.compile(r"'{2,5}")
SWITCH = re.compile(r"__[A-Z]+__|^#REDIRECT\s*", re.IGNORECASE)
ATTRIBUTES = re.compile(r"\s*+(?:[\w-]++\s*+=\s*+(?:\"[^\"]*\"|'[^']*'|[^\s|\"']++)\s*+)++\|(?!\|)")
#: signs that mean something in wiki text, and mark of code at its place in the text
SIGNS = re.compile(r"[\[\]{}'=*#:;|<]")
CODE_MARK = "\x00"


def parse_mediawiki(content: bytes, file: FileType) -> Outline:
    """Return a page of MediaWiki with its categories as tags.

    A page's title is its name; the first words in bold are it with its accents and signs.
    """
    text = "\n".join(split_lines(decode(content))).replace(CODE_MARK, " ")
    reader = _WikiReader(text)
    reader.read()
    stated = TITLE.search(text) or SUBJECT.match(text)
    title = stated[1] if stated else PurePosixPath(file.path).stem.replace("_", " ")
    return reader.written.finish(title=title, metadata={}, tags=list(dict.fromkeys(reader.categories)))


class _WikiReader:
    """Reader of the text into an outline."""

    def __init__(self, text: str) -> None:
        self.written = LineOutline()
        self.categories: list[str] = []
        #: lines of code by the number of their first one, with their language
        self._code: dict[int, tuple[list[PlacedLine], str | None]] = {}
        self._lines = without_templates(self._set_apart(text)).split("\n")

    def _set_apart(self, text: str) -> str:
        """Return the text without comments and references; code is kept for its line."""
        pieces: list[str] = []
        number, done = 1, 0
        for found in APART.finditer(text):
            pieces.append(text[done : found.start()])
            number += pieces[-1].count("\n")
            done = found.end()
            name, inner = (found[1] or "").lower(), found[3] or ""
            kept = ""
            if name in ("pre", "syntaxhighlight", "source") or (name == "code" and "\n" in inner):
                language = LANGUAGE.search(found[2])
                lines = [(line, number + index) for index, line in enumerate(inner.split("\n"))]
                self._code[number] = lines, language[1].lower() if language else None
                kept = CODE_MARK
            elif name:
                kept = SIGNS.sub(lambda sign: f"&#{ord(sign[0])};", inner)
            pieces += [kept, "\n" * (found[0].count("\n") - kept.count("\n"))]
            number += found[0].count("\n")
        return "".join([*pieces, text[done:]])

    def read(self) -> None:
        """Read all lines."""
        index = 0
        while index < len(self._lines):
            index += self._read_table(index) or self._read_line(index)

    def _read_line(self, index: int) -> int:
        line, number, written = self._lines[index], index + 1, self.written
        before, mark, after = line.partition(CODE_MARK)
        if mark:
            self._add_text(before, number)
            if number in self._code:
                code, language = self._code.pop(number)
                written.add_block("code", code, language)
            self._add_text(after.replace(CODE_MARK, ""), number)
            return 1
        level, heading = _read_heading(line)
        if level:
            written.add_heading(self._inline(heading), level, number)
        else:
            self._add_text(line, number)
        return 1

    def _add_text(self, line: str, number: int) -> None:
        written = self.written
        text = self._inline(line)
        if not text.strip() or re.match(r"-{4,}", text):
            written.end_block()
        elif line.startswith(("*", "#")):
            written.add(ITEM.sub("- ", text, count=1), number, "list")
        elif (term := TERM.match(text)) is not None and line.startswith(";"):
            written.add(f"{term[1]}: {term[2] or ''}", number, "list")
        elif line.startswith(":"):
            is_definition = written.open_kind == "list" and self._lines[number - 2].startswith(";")
            if is_definition:
                written.extend(text.lstrip(": "))
            else:
                written.add(text.lstrip(": "), number)
        elif line.startswith(" ") and written.open_kind != "list":
            written.add(text, number, "code")
        else:
            written.add(text.strip(), number)

    def _read_table(self, index: int) -> int:
        """Read a table; return the number of its lines, 0 for none."""
        if not re.match(r":*\{\|", self._lines[index]):
            return 0
        depth = 0
        end = index
        for end in range(index, len(self._lines)):
            line = self._lines[end].lstrip(": ")
            depth += line.startswith("{|") - line.startswith("|}")
            if not depth:
                break
        rows = list(self._rows(index + 1, end))
        self.written.add_block("table", rows)
        return end - index + 1

    def _rows(self, first: int, end: int) -> Iterator[PlacedLine]:
        cells: list[list[str]] = []
        start = first + 1
        for number, raw in enumerate(self._lines[first:end], start=first + 1):
            line = raw.strip()
            if line.startswith("|+"):
                yield self._cell(line[2:]), number
            elif line.startswith(("|-", "{|", "|}")):
                if any(map(any, cells)):
                    yield table_row(map(" ".join, cells)), start
                cells, start = [], number + 1
            elif line.startswith(("|", "!")):
                start = start if cells else number
                parts = re.split(r"\|\||!!" if line[0] == "!" else r"\|\|", line[1:])
                cells += [[self._cell(part)] for part in parts]
            elif cells and line:
                cells[-1].append(self._inline(line))
        if any(map(any, cells)):
            yield table_row(map(" ".join, cells)), start

    def _cell(self, text: str) -> str:
        """Return the text of a cell or a caption, without the attributes before it."""
        attributes = ATTRIBUTES.match(text)
        return self._inline(text[attributes.end() :] if attributes else text).strip()

    def _inline(self, text: str) -> str:
        """Return text with the words of links, without quotes and tags."""
        for _ in range(4):  # links in captions of pictures
            replaced = LINK.sub(self._link_text, text)
            if replaced == text:
                break
            text = replaced
        text = EXTERNAL.sub(r"\1", text)
        text = SWITCH.sub("", QUOTES.sub("", text))
        text = re.sub(r"<br\b[^<>]*>", " ", text, flags=re.IGNORECASE)
        return html.unescape(TAG.sub("", text))

    def _link_text(self, link: re.Match[str]) -> str:
        target, shown = link[1], link[2].removeprefix("|")
        category = CATEGORY.match(target)
        if category is not None:
            self.categories.append(category[1].strip())
            return ""
        if PICTURE.match(target):
            options = [option for option in shown.split("|") if not OPTION.match(option)]
            alternative = next(
                (o.partition("=")[2] for o in shown.split("|") if o.strip().startswith("alt=")), ""
            )
            return (options[-1] if options and options[-1].strip() else alternative).strip()
        if NOT_SHOWN.match(target) and not shown:
            return ""
        return shown or target.lstrip(":").replace("#", " § ") if target or shown else ""


def _read_heading(line: str) -> tuple[int, str]:
    """Return the level and the text of a heading, 0 for any other line."""
    line = line.rstrip()
    before, behind = len(line) - len(line.lstrip("=")), len(line) - len(line.rstrip("="))
    level = min(6, before, behind)
    text = line[level : len(line) - level].strip()
    return (level, text) if text else (0, "")


def without_templates(text: str) -> str:
    """Return wiki text without templates, which may hold others; the number of lines stays."""
    if "{{" not in text:
        return text
    pieces: list[str] = []
    opened: list[int] = []
    done = 0
    for brace in BRACES.finditer(text):
        if brace[0][0] == "{":
            opened.append(brace.start())
        elif opened:
            start = opened.pop()
            if not opened:
                pieces += [text[done:start], "\n" * text.count("\n", start, brace.end())]
                done = brace.end()
    return "".join([*pieces, text[done:]])
