"""Org-mode: headings, lists, tables and blocks by their lines, without drawers, keywords and comments."""

import re
from typing import Any

from ingest.parsers.decode import decode, split_lines
from ingest.parsers.markup.line_outline import LineOutline, next_after, table_row
from ingest.parsers.stated_metadata import stated_metadata
from ingest.parsers.types import FileType, Outline

KEYWORD = re.compile(r"\s*#\+([A-Za-z_]+)(?:\[[^\]]*\])?:\s*(.*)$")
BEGIN = re.compile(r"\s*#\+begin_(\w+)\s*(\S*)", re.IGNORECASE)
DRAWER = re.compile(r"\s*:[\w-]+:\s*$")
HEADING = re.compile(r"(\*+)[ \t]+(.*)$")
PRIORITY = re.compile(r"\[#\w\]\s*|COMMENT\s+|(?:(?<!\s)\s+)?\[\d*(?:/\d*|%)\]")
TAGS = re.compile(r"(?<!\s)\s+(:[\w@#%:]+:)\s*$")
STATES = {"TODO", "DONE", "NEXT", "WAITING", "WAIT", "HOLD", "CANCELLED", "CANCELED"} | {
    *("INPROGRESS", "IN-PROGRESS")
}
ITEM = re.compile(r"\s*(?:[-+]|\d+[.)]|[a-zA-Z][.)]|(?<=\s)\*)[ \t]+")
CHECKBOX = re.compile(r"^(\s*\S+[ \t]+)\[[ X-]\][ \t]+")
RULE = re.compile(r"\s*\|[-+:| ]*+\s*$|\s*-{5,}\s*$")
LINK = re.compile(r"\[\[([^\]\[]+)\](?:\[([^\]\[]+)\])?\]")
NOTE = re.compile(r"\[fn:[^\]:]*\]|\{\{\{[^}\n]{0,200}\}\}\}|(?<!<)<<++[^<>\n]{1,200}>>+")
TIMESTAMP = re.compile(r"[<\[](\d{4}-\d\d-\d\d)[^>\]]{0,80}[>\]]")
#: blocks whose text is not for readers, and those of code
UNREAD = {"comment", "export", "html", "latex"}
CODE = {"src", "example"}
#: keywords with text for readers
SHOWN = {"caption"}


def parse_org(content: bytes, file: FileType) -> Outline:
    """Return an Org file with its title, author, date and tags from the keywords."""
    reader = _OrgReader(split_lines(decode(content)))
    reader.read()
    fields = {name: " ".join(values) for name, values in reader.keywords.items()}
    stated: dict[str, Any] = {"author": fields.get("author")}
    if dated := TIMESTAMP.search(fields.get("date", "")):
        stated["date"] = dated[1]
    else:
        stated["date"] = fields.get("date")
    tags = fields.get("filetags", "").replace(":", " ").split()
    return reader.written.finish(title=fields.get("title"), metadata=stated_metadata(stated), tags=tags)


class _OrgReader:
    """Reader of the lines into an outline."""

    def __init__(self, lines: list[str]) -> None:
        self.written = LineOutline()
        self.keywords: dict[str, list[str]] = {}
        self._lines = lines
        self._states = set(STATES)
        #: names of blocks that are known to have no end
        self._unclosed: set[str] = set()
        #: lines that end a drawer, and headings, which no drawer crosses
        self._drawer_ends = [n for n, line in enumerate(lines) if line.strip().lower() == ":end:"]
        self._headings = [n for n, line in enumerate(lines) if line.startswith("* ")]

    def read(self) -> None:
        """Read all lines."""
        index = 0
        while index < len(self._lines):
            index += self._read_block(index) or self._read_drawer(index) or self._read_line(index)

    def _read_block(self, index: int) -> int:
        """Read a block of code or another one; return the number of its lines that are done, 0 for none."""
        begin = BEGIN.match(self._lines[index])
        if begin is None:
            return 0
        name = begin[1].lower()
        if name not in CODE | UNREAD:
            return 1  # a quotation and the like: its lines are read as any others
        end = None if name in self._unclosed else self._find_end(index, f"#+end_{name}")
        if end is None:
            self._unclosed.add(name)
            return 1
        if name in CODE:
            code = [
                (line, number) for number, line in enumerate(self._lines[index + 1 : end], start=index + 2)
            ]
            language = begin[2].lower() if name == "src" else None
            self.written.add_block("code", code, language or None)
        return end - index + 1

    def _read_drawer(self, index: int) -> int:
        if not DRAWER.match(self._lines[index]):
            return 0
        end, heading = next_after(self._drawer_ends, index), next_after(self._headings, index)
        return end - index + 1 if end is not None and (heading is None or end < heading) else 0

    def _find_end(self, index: int, mark: str) -> int | None:
        """Return the index of the next line with a mark, None if there is none."""
        after = range(index + 1, len(self._lines))
        return next((number for number in after if self._lines[number].strip().lower() == mark), None)

    def _read_line(self, index: int) -> int:
        line, number, written = self._lines[index], index + 1, self.written
        text = line.strip()
        heading = HEADING.match(line)
        keyword = KEYWORD.match(line)
        if heading is not None:
            written.add_heading(self._heading_text(heading[2]), min(6, len(heading[1])), number)
        elif keyword is not None:
            self._read_keyword(keyword[1].lower(), keyword[2], number)
        elif not text or text == "#" or text.startswith(("# ", "#+")):
            written.end_block()
        elif text == ":" or text.startswith(": "):
            written.add(text[2:], number, "code")
        elif RULE.match(line):
            pass
        elif text.startswith("|"):
            written.add(table_row(_inline(text).strip("|").split("|")), number, "table")
        elif ITEM.match(line) or (written.open_kind == "list" and line[0].isspace()):
            written.add(_inline(CHECKBOX.sub(r"\1", line)).replace(" :: ", ": ", 1), number, "list")
        else:
            written.add(_inline(text), number)
        return 1

    def _read_keyword(self, name: str, value: str, number: int) -> None:
        self.keywords.setdefault(name, []).append(value)
        if name in ("todo", "seq_todo", "typ_todo"):
            self._states.update(state.partition("(")[0] for state in value.replace("|", " ").split())
        elif name in SHOWN:
            self.written.end_block()
            self.written.add(_inline(value), number)
            self.written.end_block()

    def _heading_text(self, text: str) -> str:
        text = TAGS.sub("", text)
        first, _, rest = text.partition(" ")
        return _inline(PRIORITY.sub("", rest if first in self._states else text))


def _inline(text: str) -> str:
    """Return text with the descriptions of links, without footnote marks, macros and targets."""
    return LINK.sub(lambda link: link[2] or link[1], NOTE.sub("", text))
