"""HTML as readable lines, each with the lines of the file it was read from.

The standard library's parser is used because it is the one that says where in the source it is.
"""

import re
from html.parser import HTMLParser

from ingest.parsers.decoding import decode, split_lines
from ingest.parsers.types import Block, BlockKind, FileType, LineSpan, Outline

SKIPPED = frozenset({"script", "style", "template", "noscript", "svg", "iframe", "object", "select"})
HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
BLOCK_NAMES = """
address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption
figure footer form header hgroup hr html legend li main menu nav ol p pre section summary table tbody
td tfoot th thead title tr ul
"""
BLOCKS = frozenset(BLOCK_NAMES.split())
KINDS: dict[str, BlockKind] = {"li": "list", "dd": "list", "dt": "list", "blockquote": "quote", "pre": "code"}
CODE_CLASS = re.compile(r"(?:language|lang|highlight-source)-([\w+#.-]+)")
SPACES = re.compile(r"\s+")


def parse_html(content: bytes, file: FileType) -> Outline:
    """Readable text of an HTML page: headings, paragraphs, list items, table rows, preformatted code.

    Scripts, styles and navigation are left out; navigation that is never closed is kept, so that
    a forgotten tag does not hide the page.
    """
    text = "\n".join(split_lines(decode(content)))
    reader = _Reader(skipped=SKIPPED | {"nav"})
    reader.read(text)
    if reader.skip_depth:
        reader = _Reader(skipped=SKIPPED)
        reader.read(text)
    return Outline(
        lines=reader.lines,
        blocks=reader.blocks,
        origins=reader.origins,
        title=reader.title,
        metadata={"description": reader.description} if reader.description else {},
    )


class _Reader(HTMLParser):
    """Collects lines and blocks while the parser walks the page."""

    def __init__(self, *, skipped: frozenset[str]) -> None:
        super().__init__(convert_charrefs=True)
        self.skipped = skipped
        self.skip_tag = ""
        self.skip_depth = 0
        self.lines: list[str] = []
        self.origins: list[LineSpan] = []
        self.blocks: list[Block] = []
        self.title: str | None = None
        self.description: str | None = None
        self._text: list[tuple[str, int]] = []
        self._tag = "p"
        self._language: str | None = None
        self._pre_depth = 0
        self._row_depth = 0

    def read(self, text: str) -> None:
        self.feed(text)
        self.close()
        self._flush()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.skip_depth:
            self.skip_depth += tag == self.skip_tag
        elif tag in self.skipped:
            self._flush()
            self.skip_tag, self.skip_depth = tag, 1
        elif tag == "meta":
            self._read_meta(dict(attrs))
        elif tag == "br":
            self._text.append(("\n", self.getpos()[0]))
        elif tag == "code" and self._pre_depth:
            self._language = self._language or _code_language(dict(attrs))
        elif tag in BLOCKS or tag in HEADINGS:
            self._open(tag, dict(attrs))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # in HTML a slash closes void elements alone: <div/> opens a div, but <script/> in XHTML is whole
        if tag not in self.skipped or self.skip_depth:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if self.skip_depth:
            self.skip_depth -= tag == self.skip_tag
            return
        if tag in ("td", "th") and self._row_depth:
            self._text.append((" | ", self.getpos()[0]))
        elif tag in BLOCKS or tag in HEADINGS:
            self._close(tag)

    def handle_data(self, data: str) -> None:
        if not self.skip_depth:
            self._text.append((data, self.getpos()[0]))

    def _open(self, tag: str, attributes: dict[str, str | None]) -> None:
        if self._row_depth and tag != "tr":
            return
        self._flush()
        self._tag = tag
        self._row_depth = int(tag == "tr")
        if tag == "pre":
            self._pre_depth += 1
            self._language = _code_language(attributes)

    def _close(self, tag: str) -> None:
        if self._row_depth and tag not in ("tr", "table", "tbody", "thead", "body", "html"):
            return
        self._flush()
        self._tag = "p"
        self._row_depth = 0
        if tag == "pre":
            self._pre_depth = max(0, self._pre_depth - 1)

    def _read_meta(self, attributes: dict[str, str | None]) -> None:
        if (attributes.get("name") or "").lower() == "description":
            self.description = " ".join((attributes.get("content") or "").split())[:1000] or None

    def _flush(self) -> None:
        """Ends the current run of text: it becomes one block."""
        pieces, self._text = self._text, []
        rendered = _preformatted(pieces) if self._pre_depth else _flowing(pieces)
        if not rendered:
            return
        if self._tag == "title":
            self.title = self.title or " ".join(line for line, _ in rendered)
            return
        self._append(rendered)

    def _append(self, rendered: list[tuple[str, LineSpan]]) -> None:
        is_row = self._row_depth > 0
        previous = self.blocks[-1] if self.blocks else None
        joins = previous is not None and is_row and previous.kind == "table" and self._is_adjacent_row
        if self.lines and not joins:
            self.lines.append("")
            self.origins.append(rendered[0][1])
        start = len(self.lines) + 1
        for line, origin in rendered:
            self.lines.append(line)
            self.origins.append(origin)
        span = LineSpan(previous.span.start if joins and previous else start, len(self.lines))
        if joins:
            self.blocks.pop()
        self.blocks.append(self._block(span, is_row=is_row))

    @property
    def _is_adjacent_row(self) -> bool:
        return bool(self.blocks) and self.blocks[-1].span.end == len(self.lines)

    def _block(self, span: LineSpan, *, is_row: bool) -> Block:
        if is_row:
            return Block(kind="table", span=span)
        if self._tag in HEADINGS:
            text = " ".join(self.lines[span.start - 1 : span.end])
            return Block(kind="heading", span=span, text=text, level=int(self._tag[1]))
        if self._pre_depth:
            return Block(kind="code", span=span, language=self._language)
        return Block(kind=KINDS.get(self._tag, "paragraph"), span=span)


def _code_language(attributes: dict[str, str | None]) -> str | None:
    found = CODE_CLASS.search(attributes.get("class") or "")
    return found[1].lower() if found else None


def _preformatted(pieces: list[tuple[str, int]]) -> list[tuple[str, LineSpan]]:
    """Lines of a `<pre>` with their own spaces, blank ones at either end dropped."""
    rendered: list[tuple[str, LineSpan]] = [("", LineSpan(pieces[0][1], pieces[0][1]))] if pieces else []
    for text, line in pieces:
        for offset, part in enumerate(text.split("\n")):
            if offset:
                rendered.append((part, LineSpan(line + offset, line + offset)))
            else:
                before, origin = rendered[-1]
                rendered[-1] = (before + part, LineSpan(line, line) if not before else origin)
    while rendered and not rendered[-1][0].strip():
        rendered.pop()
    while rendered and not rendered[0][0].strip():
        rendered.pop(0)
    return rendered


def _flowing(pieces: list[tuple[str, int]]) -> list[tuple[str, LineSpan]]:
    """Text with white space collapsed; one line, or several where `<br>` broke it."""
    rendered: list[tuple[str, LineSpan]] = []
    run: list[tuple[str, int]] = []
    for piece in [*pieces, ("\n", 0)]:
        if piece[0] != "\n":
            run.append(piece)
            continue
        text = SPACES.sub(" ", "".join(text for text, _ in run)).strip().removesuffix("|").rstrip()
        if text:
            rendered.append((text, _extent(run)))
        run = []
    return rendered


def _extent(pieces: list[tuple[str, int]]) -> LineSpan:
    """Lines of the file between the first and the last visible character."""
    visible = [(text, line) for text, line in pieces if text.strip() and text != " | "] or pieces
    first, first_line = visible[0]
    last, last_line = visible[-1]
    start = first_line + first[: len(first) - len(first.lstrip())].count("\n")
    return LineSpan(start, max(start, last_line + last.rstrip().count("\n")))
