"""Jupyter notebooks as the lines of their cells, each with its line in the JSON file.

nbformat reads notebooks too, but does not report lines; the tests compare with it.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from json import decoder, scanner
from typing import Any

from ingest.parsers.blocks import shift_block
from ingest.parsers.decode import UNSAFE, decode, split_lines
from ingest.parsers.markup.front_matter import FrontMatter, read_front_matter
from ingest.parsers.markup.html import read_fragment
from ingest.parsers.markup.markdown import read_markdown
from ingest.parsers.types import Block, FileType, LineSpan, Outline, OutlineDraft
from search.documents.charset import REPLACEMENT

MAX_OUTPUT_LINES = 30
OUTPUT_LINE_CHARS = 500
#: lines of the file between two cells that no chunk crosses: they are pictures and tables in HTML, and a
#: citation over them would show little else
MAX_GAP_LINES = 40
LANGUAGE_CHARS = 40
#: lines of the end of an error: its message, and where it was raised
MAX_TRACE_LINES = 4
#: lines of HTML of an output that are read
MAX_HTML_LINES = 2_000
#: keys of pictures in format 3
PICTURES = frozenset({"png", "jpeg", "svg"})
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
WORD = re.compile(r"\w")
#: what stands for a picture or an object: <Figure size 640x480 with 1 Axes>
PLACEHOLDER = re.compile(r"<[^<>]*>")
#: cell magics that set the language of the cell
MAGIC_LANGUAGES = {
    "%%bash": "bash",
    "%%sh": "bash",
    "%%script": "bash",
    "%%html": "html",
    "%%javascript": "javascript",
    "%%js": "javascript",
    "%%latex": "latex",
    "%%markdown": "markdown",
    "%%perl": "perl",
    "%%R": "r",
    "%%ruby": "ruby",
    "%%sql": "sql",
    "%%writefile": None,
}

#: text of one line, and its line in the file
PlacedLine = tuple[str, int]


def parse_notebook(content: bytes, file: FileType) -> Outline:
    """Return Markdown cells as Markdown, code cells as code in the kernel's language with their outputs.

    Outputs are text, Markdown, tables in HTML and the end of errors, MAX_OUTPUT_LINES lines each; images
    are left out. Notebook formats are 4, and 3 with its worksheets.

    Raises:
        ValueError: it is not JSON, or has no cells.
    """
    notebook = load_placed("\n".join(split_lines(decode(content))))
    reader = _NotebookReader(language=_kernel_language(notebook))
    for number, cell in enumerate(_cells(notebook), start=1):
        reader.read(cell, number)
    stated = reader.front_matter
    title = notebook.get("metadata", {}).get("title") if isinstance(notebook.get("metadata"), dict) else None
    return reader.outline(
        names=reader.names,
        title=stated.title or (" ".join(title.split()) or None if isinstance(title, str) else None),
        tags=stated.tags,
        metadata=stated.metadata,
        warnings=(stated.warning,) if stated.warning else (),
    )


def _cells(notebook: Any) -> list[dict[str, Any]]:
    if not isinstance(notebook, dict):
        raise ValueError("a notebook is a JSON object")
    sheets = notebook.get("worksheets")
    cells = notebook.get("cells")
    if cells is None and isinstance(sheets, list):
        cells = [cell for sheet in sheets if isinstance(sheet, dict) for cell in sheet.get("cells") or ()]
    if not isinstance(cells, list):
        raise ValueError("a notebook has a list of cells")
    return [cell for cell in cells if isinstance(cell, dict)]


def _kernel_language(notebook: Any) -> str | None:
    metadata = notebook.get("metadata") if isinstance(notebook, dict) else None
    for part, name in (("language_info", "name"), ("kernelspec", "language")):
        named = metadata.get(part) if isinstance(metadata, dict) else None
        language = named.get(name) if isinstance(named, dict) else None
        if isinstance(language, str) and 0 < len(language) <= LANGUAGE_CHARS:
            return str(language.lower())
    return None


def _placed_lines(source: Any) -> list[PlacedLine]:
    """Return the lines of a multi-line string, which notebooks write as one string or as a list of lines."""
    pieces = source if isinstance(source, list) else [source]
    lines: list[tuple[list[str], int]] = []
    is_open = False
    for piece in pieces:
        if not isinstance(piece, PlacedText):
            continue
        for text in split_lines(UNSAFE.sub(REPLACEMENT, piece)):
            if is_open:
                lines[-1][0].append(text)
            else:
                lines.append(([text], piece.line))
            is_open = False
        is_open = bool(piece) and not piece.endswith(("\n", "\r"))
    return [("".join(texts), number) for texts, number in lines]


@dataclass(slots=True, kw_only=True)
class _NotebookReader(OutlineDraft):
    """Reader that collects the lines and blocks of the cells."""

    language: str | None
    names: list[str] = field(default_factory=list)
    name: str = ""
    front_matter: FrontMatter = field(default_factory=FrontMatter)

    def read(self, cell: dict[str, Any], number: int) -> None:
        count = cell.get("execution_count", cell.get("prompt_number"))
        self.name = f"cell {number}, In [{count}]" if isinstance(count, int) else f"cell {number}"
        kind = cell.get("cell_type")
        source = _placed_lines(cell.get("source", cell.get("input")))
        if kind == "code":
            self._add_code(source, cell)
        elif kind == "heading":  # of format 3
            text = " ".join(" ".join(line for line, _ in source).split())
            level = cell.get("level")
            known_level = level if isinstance(level, int) and 1 <= level <= 6 else 1
            span = LineSpan(1, len(source))
            self._add(source, [Block(kind="heading", span=span, text=text, level=known_level)])
        else:
            self._add_prose(source)

    def _add_prose(self, source: Sequence[PlacedLine]) -> None:
        lines = [line for line, _ in source]
        header = FrontMatter() if self.lines else read_front_matter(lines)
        text = read_markdown(lines, header.last_line)
        blocks = list(text.blocks)
        if header.last_line or header.warning:
            self.front_matter = header
        if header.last_line:
            blocks.insert(0, Block(kind="front_matter", span=LineSpan(1, header.last_line)))
        self._add(_replace_lines(source, text.lines, text.origins), blocks)

    def _add_code(self, source: Sequence[PlacedLine], cell: dict[str, Any]) -> None:
        named = cell.get("language")  # of format 3
        language = self.language or (named.lower()[:LANGUAGE_CHARS] if isinstance(named, str) else None)
        if source:
            language = MAGIC_LANGUAGES.get(source[0][0].split(" ")[0].strip(), language)
        self._add_block(source, "code", language)
        for output in cell.get("outputs") or ():
            if isinstance(output, dict):
                self._add_output(output)

    def _add_output(self, output: dict[str, Any]) -> None:
        """Add the form of an output that reads best: Markdown, a table, or plain text."""
        bundle = output.get("data", output)  # format 3 has the forms in the output itself
        bundle = bundle if isinstance(bundle, dict) else {}
        plain = _output_lines(output)
        html = _placed_lines(bundle.get("text/html", bundle.get("html")))
        markdown = _placed_lines(bundle.get("text/markdown"))
        is_picture = any(kind.startswith("image/") or kind in PICTURES for kind in bundle)
        self.omitted("pictures", is_picture and not (plain or html or markdown), self.name)
        if markdown:
            self._add_prose(self._first_lines(markdown))
        elif not plain or any("<table" in line for line, _ in html):
            kind = "table" if plain else "paragraph"
            self._add_block(self._first_lines(_read_html(html) or plain), kind, None)
        else:
            self._add_block(self._first_lines(plain), "code", None)

    def _first_lines(self, lines: Sequence[PlacedLine]) -> Sequence[PlacedLine]:
        left_out = len(lines) - MAX_OUTPUT_LINES
        self.omitted("beyond_limit", left_out > 0, f"{self.name}, {left_out} lines of output")
        return lines[:MAX_OUTPUT_LINES]

    def _add_block(self, source: Sequence[PlacedLine], kind: Any, language: str | None) -> None:
        filled = [index for index, (line, _) in enumerate(source) if line.strip()]
        if filled:
            trimmed = source[filled[0] : filled[-1] + 1]
            self._add(trimmed, [Block(kind=kind, span=LineSpan(1, len(trimmed)), language=language)])

    def _add(self, source: Sequence[PlacedLine], blocks: Sequence[Block]) -> None:
        if not source or not blocks:
            return
        if self.lines:
            self.lines.append("")
            self.origins.append(self.origins[-1])
            self.names.append(self.names[-1])
        above = len(self.lines)
        if self.origins and source[0][1] - self.origins[-1].end > MAX_GAP_LINES:
            self.walls.append(above + 1)
        self.blocks.extend(shift_block(block, above) for block in blocks)
        self.lines.extend(line for line, _ in source)
        self.origins.extend(LineSpan(number, number) for _, number in source)
        self.names.extend([self.name] * len(source))


def _replace_lines(
    source: Sequence[PlacedLine], lines: Sequence[str], origins: Sequence[LineSpan] | None
) -> Sequence[PlacedLine]:
    """Return `lines`, made from those of `source`, with their places."""
    if origins is None:
        return source
    return [(line, source[origin.start - 1][1]) for line, origin in zip(lines, origins, strict=True)]


def _read_html(html: Sequence[PlacedLine]) -> Sequence[PlacedLine]:
    """Return the text of HTML, a line per row of a table."""
    page = read_fragment("\n".join(line for line, _ in html[:MAX_HTML_LINES]))
    lines = _replace_lines(html, page.lines, page.origins)
    return [(line[:OUTPUT_LINE_CHARS], place) for line, place in lines if line]


def _output_lines(output: dict[str, Any]) -> list[PlacedLine]:
    """Return the lines of a cell's printed output or result, the last of an error.

    Placeholders of pictures are left out.
    """
    if output.get("name", output.get("stream")) == "stderr":
        return []
    bundle = output.get("data")
    if output.get("output_type") in ("error", "pyerr"):
        trace = [line for piece in _trace(output) for line in _placed_lines(piece)]
        lines = [line for line in trace if WORD.search(ANSI.sub("", line[0]))][-MAX_TRACE_LINES:]
    else:
        lines = _placed_lines(bundle.get("text/plain") if isinstance(bundle, dict) else output.get("text"))
    lines = [(ANSI.sub("", text)[:OUTPUT_LINE_CHARS], number) for text, number in lines]
    return [] if len(lines) == 1 and PLACEHOLDER.fullmatch(lines[0][0]) else lines


def _trace(output: dict[str, Any]) -> Sequence[Any]:
    """Return the lines of an error's trace, or its name and message."""
    trace = output.get("traceback")
    return trace if isinstance(trace, list) and trace else [output.get("ename"), output.get("evalue")]


LINE_END = re.compile("\n")


class PlacedText(str):
    """A string value and the line (from 1) on which it begins."""

    __slots__ = ("line",)
    line: int


def load_placed(text: str) -> Any:
    """Return the parsed JSON `text`, every string value a `PlacedText`; keys are plain strings.

    The standard library's scanner in Python is used, because it accepts a custom reader of strings: about
    1 µs per value, and long strings at the speed of the scanner in C.

    Raises:
        ValueError: it is not JSON, or nested too deep.
    """
    reader = json.JSONDecoder(strict=False)
    reader.parse_string = _string_reader([match.start() for match in LINE_END.finditer(text)])  # type: ignore[attr-defined]  # the stubs lack it
    reader.scan_once = scanner.py_make_scanner(reader)  # type: ignore[attr-defined]  # the stubs lack it
    try:
        return reader.decode(text)
    except RecursionError:
        raise ValueError("the JSON is nested too deep") from None


def _string_reader(line_ends: list[int]) -> Callable[..., tuple[PlacedText, int]]:
    def read_string(text: str, end: int, strict: bool) -> tuple[PlacedText, int]:
        value, after = decoder.scanstring(text, end, strict)  # type: ignore[attr-defined]  # the stubs lack it
        placed = PlacedText(value)
        placed.line = bisect_right(line_ends, end) + 1
        return placed, after

    return read_string
