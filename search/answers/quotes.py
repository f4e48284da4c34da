"""Quotes of a passage: the sentences, lists, rows and pieces of code that can answer a question.

A list or a block of code belongs to the sentence that introduces it, else to its heading; a row to the head
of its table; the documentation of a definition to its signature.
"""

import csv
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, zip_longest
from typing import Final

from search.answers.blocks import Block, BlockKind, is_table_rule, read_blocks, unwrap_lines
from search.answers.sentences import split_sentences
from search.markup.plain_text import plain_text
from search.retrieval.text.fences import put_in_fence
from search.retrieval.text.plain_text import SEPARATOR

_SIGNATURE_LINES: Final = 8
_DOCUMENTATION_LINES: Final = 12
_RUN_LINES: Final = 12
_DECLARATION: Final = re.compile(
    r"\s*(?:[a-z]+(?:\([a-z]+\))?\s+){0,4}"
    r"(?:def|class|function\*?|func|fn|fun|interface|enum|struct|trait|impl|sub|macro_rules!|CREATE\s+TABLE)\s+\w",
)
# Comments and decorators right above a declaration.
_ABOVE: Final = re.compile(r"\s*(?://|#|/?\*|--|@)")
_DOCSTRING: Final = re.compile(r"\s*[rbu]?(\"\"\"|''')")
_BRACKETS: Final = {"(": 1, "[": 1, ")": -1, "]": -1}


def code_pieces(code: str) -> Iterator[str]:
    """Yield the signatures with their documentation, then the runs of lines without blank ones."""
    lines = code.splitlines()
    for at, line in enumerate(lines):
        if _DECLARATION.match(line):
            yield "\n".join(
                lines[_first_line(lines, at) : _documentation_end(lines, _signature_end(lines, at))]
            )
    for is_blank, run in groupby(lines, lambda line: not line.strip()):
        if not is_blank:
            yield "\n".join(list(run)[:_RUN_LINES])


def _first_line(lines: Sequence[str], at: int) -> int:
    while at > 0 and _ABOVE.match(lines[at - 1]):
        at -= 1
    return at


def _signature_end(lines: Sequence[str], at: int) -> int:
    """Return the index after the line that closes the brackets of the signature."""
    depth = 0
    for end in range(at, min(at + _SIGNATURE_LINES, len(lines))):
        depth += sum(_BRACKETS.get(character, 0) for character in lines[end])
        if depth <= 0:
            return end + 1
    return at + 1


def _documentation_end(lines: Sequence[str], at: int) -> int:
    """Return the index after the docstring at a line; the line's own if there is none."""
    opening = _DOCSTRING.match(lines[at]) if at < len(lines) else None
    if opening is None:
        return at
    quotes = opening[1]
    if quotes in lines[at][opening.end() :]:
        return at + 1
    for end in range(at + 1, min(at + _DOCUMENTATION_LINES, len(lines))):
        if quotes in lines[end]:
            return end + 1
    return at


MAX_SENTENCE_CHARS: Final = 600
MAX_BLOCK_CHARS, MAX_BLOCK_LINES = 1_500, 24
MAX_ROWS: Final = 8
_MARKDOWN: Final = ("md", "markdown", "mdx", "mdown", "mkd", "ipynb")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:\s+[\"'][^\"']*[\"'])?\)")
# Code, which stays, or a mark of emphasis: a sentence may have one half of a pair.
_EMPHASIS = re.compile(r"`[^`]*`|\A(?:\*\*+|__)\s*|(?<!\w)(?:\*\*+|__)(?=\S)|(?<=\S)(?:\*\*+|__)(?!\w)")
_LETTERS = re.compile(r"\w\w")
_CAPTION_MARKUP = re.compile(r"[*`\[\]<>|\\]")
_CELL_BORDER = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The document, the languages and the headings of a passage."""

    path: str
    title: str = ""
    #: Language of the prose, `und` when unknown, and of the code.
    lang: str = "und"
    code_lang: str | None = None
    #: The headings above the passage, outermost first; for rows of separated values the column names.
    headings: Sequence[str] = ()

    @property
    def extension(self) -> str:
        """Return the lower-case extension of the file's name."""
        return self.path.rpartition(".")[2].lower()

    @property
    def all_headings(self) -> str:
        """Return the title and the headings, a line each."""
        return "\n".join((self.title, *self.headings))

    @property
    def is_markdown(self) -> bool:
        """Return whether the text is Markdown."""
        return self.extension in _MARKDOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A part of a passage, verbatim but for white space, and as Markdown."""

    verbatim: str
    #: The sentence, or what introduces `block`.
    lead: str
    #: A list, a table or a piece of code; '' for a sentence.
    block: str = ""
    #: More words that it is found by.
    context: str = ""
    #: The heading above it within its passage.
    heading: str = ""
    #: Of a table: its rows, each with the table's head.
    rows: tuple["Quote", ...] = ()


def split_quotes(text: str, origin: Origin) -> Iterator[Quote]:
    """Yield the quotes of a passage's text."""
    if origin.extension in ("csv", "tsv"):
        return _separated_values(text, origin)
    if origin.code_lang and not origin.is_markdown:
        return _code_quotes(text, origin)
    return _prose_quotes(read_blocks(text), origin)


def _code_quotes(text: str, origin: Origin) -> Iterator[Quote]:
    caption = _caption(origin.title or origin.path)
    for piece in code_pieces(text):
        block = put_in_fence(textwrap.dedent(piece), origin.code_lang or "")
        yield Quote(verbatim=piece, lead=caption, block=block)


def _prose_quotes(blocks: Sequence[Block], origin: Origin) -> Iterator[Quote]:
    """Yield the quotes of blocks; the headings if there is nothing else."""
    if all(block.kind is BlockKind.HEADING for block in blocks):
        yield from (_sentence(block.text, origin) for block in blocks)
        return
    reading = _Reading(origin)
    for block, following in zip_longest(blocks, blocks[1:]):
        for quote in reading.read(block, following):
            yield replace(quote, heading=reading.heading)


class _Reading:
    """Blocks in order, with what introduces the next one."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        #: The heading above; the sentence that introduces the next block; code right under the heading.
        self.heading, self._lead = "", ""
        self._code: Block | None = None

    def read(self, block: Block, following: Block | None) -> Iterator[Quote]:
        if block.kind is BlockKind.HEADING:
            self.heading = block.text
        elif block.kind is BlockKind.PARAGRAPH:
            yield from self._paragraph(block, following)
        elif block.kind is BlockKind.TABLE:
            yield _table(block, self._caption_text)
        else:
            yield from self._attached(block)
        is_code = block.kind is BlockKind.CODE and not self._lead
        self._code = block if is_code else None
        if block.kind is not BlockKind.PARAGRAPH:
            self._lead = ""

    @property
    def _caption_text(self) -> str:
        return self.heading or _heading(self._origin)

    def _paragraph(self, block: Block, following: Block | None) -> Iterator[Quote]:
        """Yield the sentences, but for one that introduces the next block; the first with code above it."""
        sentences = _sentences(block, self._origin)
        self._lead = ""
        if sentences and _introduces(sentences[-1], following):
            self._lead = sentences.pop()
        if self._code is not None and sentences:
            shown = _plain_lead(sentences[0], self._origin)
            yield self._quote(self._code, after=sentences[0], shown_after=shown)
        yield from (_sentence(each, self._origin) for each in sentences)

    def _attached(self, block: Block) -> Iterator[Quote]:
        """Yield a list or code with its introduction; the items of a list that is too long."""
        if block.kind is BlockKind.LIST and _cut(block.text) != block.text:
            leads = [self._lead] if self._lead else []
            yield from (_sentence(each, self._origin) for each in (*leads, *block.items))
        else:
            yield self._quote(block)

    def _quote(self, block: Block, *, after: str = "", shown_after: str = "") -> Quote:
        cut = _cut(block.text)
        # A quote is one run of the passage: what follows lines that were left out is no part of it.
        verbatim = (self._lead, block.directive, cut, after if cut == block.text else "")
        lead = re.sub(r"\s*:{2,}\Z", ":", _plain_lead(self._lead, self._origin))
        return Quote(
            verbatim="\n".join(filter(None, verbatim)),
            lead=lead or _caption(self._caption_text),
            block="\n\n".join(filter(None, (_closed(block, cut), shown_after))),
            context="" if lead else self.heading,
        )


def _introduces(sentence: str, following: Block | None) -> bool:
    if following is None or following.kind is not BlockKind.LIST:
        return following is not None and following.kind is BlockKind.CODE
    return sentence.endswith((":", "："))


def _sentences(block: Block, origin: Origin) -> list[str]:
    pieces = (piece for line in unwrap_lines(block.lines) for piece in split_sentences(line, origin.lang))
    return [piece for piece in (" ".join(each.split()) for each in pieces) if _LETTERS.search(piece)]


def _sentence(text: str, origin: Origin) -> Quote:
    verbatim = text[:MAX_SENTENCE_CHARS]
    return Quote(verbatim=verbatim, lead=_plain_lead(verbatim, origin) or verbatim)


def _plain_lead(sentence: str, origin: Origin) -> str:
    if origin.extension in ("rst", "rest"):
        return plain_text(sentence, origin.path, is_code=False).replace(SEPARATOR, "·")
    return _without_markup(sentence)


def _without_markup(text: str) -> str:
    """Return Markdown without links and emphasis."""
    return _EMPHASIS.sub(lambda found: found[0] if found[0][0] == "`" else "", _LINK.sub(r"\1", text))


def _table(block: Block, heading: str) -> Quote:
    head, *rows = [line for line in block.lines if not is_table_rule(line)]
    cells = [_split_cells(row) for row in rows]
    return _table_quote(block.text, _split_cells(head), rows, cells, caption=heading)


def _split_cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in _CELL_BORDER.split(line.strip().strip("|"))]


def _separated_values(text: str, origin: Origin) -> Iterator[Quote]:
    head = origin.headings[-1].split(" | ") if origin.headings else []
    separator = "\t" if origin.extension == "tsv" else ","
    read = [(line, next(csv.reader([line], delimiter=separator), [])) for line in text.splitlines()]
    lines = [line for line, cells in read if any(cells) and cells != head]
    cells = [cells for _, cells in read if any(cells) and cells != head]
    if lines:
        yield _table_quote(text, head, lines, cells, caption=origin.title)


def _table_quote(
    verbatim: str, head: Sequence[str], lines: Sequence[str], cells: Sequence[Sequence[str]], *, caption: str
) -> Quote:
    """Return a table with its rows; of a long one only its first rows are quoted as a whole."""
    lead, context = _caption(caption), " ".join(head)

    def quote(text: str, shown: Sequence[Sequence[str]], rows: tuple[Quote, ...] = ()) -> Quote:
        block = _rows_block(head, shown)
        return Quote(verbatim=_cut(text.strip()), lead=lead, block=block, context=context, rows=rows)

    rows = tuple(quote(line, [row]) for line, row in zip(lines, cells, strict=True))
    return quote(verbatim, cells[:MAX_ROWS], rows)


def _rows_block(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    width = max(map(len, (head, *rows)))
    lines = (_cells(head, width), "|---" * width + "|", *(_cells(row, width) for row in rows))
    return "\n".join(map(_without_markup, lines))


def _cells(cells: Sequence[str], width: int) -> str:
    padded = [*cells, *[""] * (width - len(cells))]
    return "| " + " | ".join(" ".join(each.split()).replace("|", "\\|")[:200] for each in padded) + " |"


def _heading(origin: Origin) -> str:
    """Return the passage's heading; the title where it has several, joined by a dot."""
    last = origin.headings[-1] if origin.headings else ""
    return last if last and " · " not in last else origin.title


def _caption(text: str) -> str:
    caption = " ".join(_CAPTION_MARKUP.sub("", text).strip("# ").split())
    return caption[:120]


def _cut(text: str) -> str:
    """Return the first lines of a text, within the limits of a block."""
    if len(text) <= MAX_BLOCK_CHARS and text.count("\n") < MAX_BLOCK_LINES:
        return text
    lines = text.split("\n")[:MAX_BLOCK_LINES]
    while len(lines) > 1 and sum(map(len, lines)) > MAX_BLOCK_CHARS:
        lines.pop()
    return "\n".join(lines)[:MAX_BLOCK_CHARS]


def _closed(block: Block, shown: str) -> str:
    """Return a block as Markdown: indented code as a fence, a cut fence with its end."""
    if block.kind is BlockKind.LIST:
        return _without_markup(shown)
    fence = block.fence
    if not fence:
        return put_in_fence(textwrap.dedent(shown), block.language)
    return shown if shown.rstrip().endswith(fence) and "\n" in shown else f"{shown}\n{fence}"
