"""Blocks of a text, Markdown or plain, by its lines: headings, paragraphs, lists, tables and code."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import takewhile
from typing import Final

# A line of at least this length is taken for a wrapped one.
_WRAPPED_CHARS: Final = 50
_FENCE: Final = re.compile(r"\s{0,3}(`{3,}|~{3,})\s*([\w+#.-]*)")
_HEADING: Final = re.compile(r"\s{0,3}#{1,6}\s+(.*?)\s*#*\s*\Z")
_RULE: Final = re.compile(r"\s*([=\-~^\"'*+#_])\1{2,}\s*\Z")
_ITEM: Final = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+\S")
_INDENTED: Final = re.compile(r"(?: {4}|\t)")
# A line by itself in a text without markup: short, begins with a capital, ends without a stop.
_PLAIN_HEADING: Final = re.compile(r"(?=[^\W\d_])(?![a-z])(?:\S+ ){0,5}\S*[\w)]\s*\Z")
_TABLE_RULE: Final = re.compile(r"[\s|:+=-]+\Z")
_QUOTED: Final = re.compile(r"\s{0,3}(?:>\s?)+")
# `.. code-block:: bash` and other directives of reStructuredText for code.
_DIRECTIVE: Final = re.compile(r"\s*\.\. (?:code-block|code|sourcecode|highlight)::\s*(\S*)")


class BlockKind(Enum):
    """Kind of a block."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST = "list"
    TABLE = "table"
    CODE = "code"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Consecutive lines of one kind."""

    kind: BlockKind
    lines: tuple[str, ...]
    #: Of code: the fence that ends it, '' if it is indented; its language; the directive before it.
    fence: str = ""
    language: str = ""
    directive: str = ""

    @property
    def text(self) -> str:
        """Return the lines as one text."""
        return "\n".join(self.lines)

    @property
    def items(self) -> Sequence[str]:
        """Return the items of a list, each on one line, without their bullets."""
        items: list[str] = []
        for line in self.lines:
            if _ITEM.match(line) or not items:
                items.append(re.sub(r"\A\s*(?:[-*+•]|\d{1,3}[.)])\s+", "", line))
            else:
                items[-1] = f"{items[-1]} {line.strip()}"
        return items


def is_table_rule(line: str) -> bool:
    """Return whether a line of a table is the rule below its head."""
    return _TABLE_RULE.match(line) is not None


def read_blocks(text: str) -> list[Block]:
    """Return the blocks of a text, in order, without the blank lines between them."""
    lines = text.splitlines()
    blocks: list[Block] = []
    at = 0
    while at < len(lines):
        if not lines[at].strip() or _RULE.match(lines[at]):
            at += 1
            continue
        block, count = _read_block(lines[at:])
        blocks.append(block)
        at += count
    return blocks


def unwrap_lines(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a paragraph, with continuation lines joined to their first line."""
    joined, before = "", ""
    for line in lines:
        if len(before) >= _WRAPPED_CHARS:
            joined = f"{joined} {line}"
        else:
            yield joined
            joined = line
        before = line
    yield joined


def _read_block(lines: Sequence[str]) -> tuple[Block, int]:
    """Return the block at the first line, and the number of its lines."""
    first = lines[0]
    if fence := _FENCE.match(first):
        return _read_fence(lines, fence)
    if heading := _HEADING.match(first):
        return Block(kind=BlockKind.HEADING, lines=(heading[1],)), 1
    if directive := _DIRECTIVE.match(first):
        code, count = _read_code(lines[1:], directive[1], first.strip())
        return code, count + 1
    if _INDENTED.match(first):
        return _read_code(lines, "", "")
    if _is_table(lines):
        rows = tuple(takewhile(lambda line: "|" in line, lines))
        return Block(kind=BlockKind.TABLE, lines=rows), len(rows)
    if _ITEM.match(first):
        items = tuple(lines[: _list_end(lines)])
        return Block(kind=BlockKind.LIST, lines=items), len(items)
    if len(lines) > 1 and _RULE.match(lines[1]):
        return Block(kind=BlockKind.HEADING, lines=(first.strip(),)), 2
    return _read_paragraph(lines)


def _read_fence(lines: Sequence[str], opening: re.Match[str]) -> tuple[Block, int]:
    inside = len(list(takewhile(lambda line: not line.strip().startswith(opening[1]), lines[1:])))
    fenced = tuple(lines[: inside + 2])
    return Block(kind=BlockKind.CODE, lines=fenced, fence=opening[1], language=opening[2]), len(fenced)


def _read_code(lines: Sequence[str], language: str, directive: str) -> tuple[Block, int]:
    code = list(takewhile(lambda line: not line.strip() or line[0] in " \t", lines))
    text = "\n".join(code).strip("\n").rstrip()
    lines = tuple(text.split("\n"))
    return Block(kind=BlockKind.CODE, lines=lines, language=language, directive=directive), len(code)


def _is_table(lines: Sequence[str]) -> bool:
    return all("|" in line for line in lines[:2]) and len(lines) > 1


def _list_end(lines: Sequence[str]) -> int:
    """Return the number of lines of the list at the first line."""
    end = 1
    for at, line in enumerate(lines):
        if not line.strip():
            continue
        is_after_blank = at > 0 and not lines[at - 1].strip()
        if is_after_blank and not _ITEM.match(line) and not line.startswith("  "):
            break
        if (_FENCE.match(line) and not line.startswith("  ")) or _HEADING.match(line):
            break
        end = at + 1
    return end


def _read_paragraph(lines: Sequence[str]) -> tuple[Block, int]:
    count = 1
    while count < len(lines) and not _ends_paragraph(lines[count:]):
        count += 1
    stripped = tuple(_QUOTED.sub("", line) for line in lines[:count])
    is_heading = count == 1 and count < len(lines) and _PLAIN_HEADING.match(stripped[0])
    return Block(kind=BlockKind.HEADING if is_heading else BlockKind.PARAGRAPH, lines=stripped), count


def _ends_paragraph(lines: Sequence[str]) -> bool:
    first = lines[0]
    return (
        not first.strip()
        or _is_table(lines)
        or any(each.match(first) for each in (_FENCE, _HEADING, _ITEM, _DIRECTIVE))
    )
