"""reStructuredText: blocks found by docutils, with the file's own lines as their text."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ingest.parsers.blocks import cover_lines
from ingest.parsers.decode import decode, split_lines
from ingest.parsers.markup.front_matter import FrontMatter
from ingest.parsers.stated_metadata import stated_metadata
from ingest.parsers.types import Block, BlockKind, FileType, LineSpan, Outline
from search.markup.rst import CODE_DIRECTIVES, SILENT_DIRECTIVES

if TYPE_CHECKING:
    from docutils import nodes

KINDS: Mapping[str, BlockKind] = {
    "bullet_list": "list",
    "enumerated_list": "list",
    "definition_list": "list",
    "field_list": "list",
    "option_list": "list",
    "block_quote": "quote",
    "literal_block": "code",
    "doctest_block": "code",
    "table": "table",
    "comment": "html",
    "target": "html",
    "substitution_definition": "html",
}
TABLE_DIRECTIVES = frozenset({"table", "csv-table", "list-table", "flat-table"})
PYTHON_DIRECTIVES = frozenset({"testcode", "testsetup", "doctest", "ipython"})
NAMED_LANGUAGE = frozenset({"code", "code-block", "sourcecode", "prompt"})
LANGUAGE = re.compile(r"[\w+#.-]+")
FIELD = re.compile(r":([\w -]{1,60}):\s+(\S.*)$")
MAX_FIELDS = 64
FIELD_CHARS = 1_000
MAX_HEADING_LEVEL = 6
MAX_WARNINGS = 5


def parse_rst(content: bytes, file: FileType) -> Outline:
    """Return the blocks of a reStructuredText file; every non-blank line lies in one of them.

    Errors in the markup become warnings; their lines stay as text.
    """
    from ingest.parsers.markup.rst_states import Problems, outermost_nodes  # docutils takes a while to import

    lines = split_lines(decode(content))
    if not any(line.strip() for line in lines):
        return Outline(lines=lines, blocks=())
    problems = Problems()
    found = outermost_nodes(lines, problems)
    blocks = tuple(cover_lines(lines, 0, _blocks(found, lines)))
    fields = _bibliographic_fields(blocks, lines)
    stated = FrontMatter(metadata={**fields, **stated_metadata(fields)})
    return Outline(
        lines=lines,
        blocks=blocks,
        title=stated.title,
        tags=stated.tags,
        metadata=stated.metadata,
        warnings=tuple(problems.sentences[:MAX_WARNINGS]),
    )


def _blocks(found: Sequence["nodes.Element"], lines: Sequence[str]) -> Iterator[Block]:
    """Yield a block per element, up to the line before the next one."""
    default_language = None
    starts = [node.line for node in found if node.line is not None]
    for node, start, following in zip(found, starts, [*starts[1:], len(lines) + 1], strict=True):
        if node.tagname == "title":
            span = LineSpan(start, node["end"])
            level = min(node["level"], MAX_HEADING_LEVEL)
            yield Block(kind="heading", span=span, text=" ".join(node.astext().split()), level=level)
            continue
        span = LineSpan(start, max(start, following - 1))
        if node.tagname == "Directive":
            if node["name"] in ("highlight", "highlightlang"):
                default_language = _language(node["argument"])
            yield _directive_block(node, span, lines)
        else:
            yield _block(node, span, default_language)


def _block(node: "nodes.Element", span: LineSpan, default_language: str | None) -> Block:
    kind = KINDS.get(node.tagname, "paragraph")
    if kind == "code":
        language = "python" if node.tagname == "doctest_block" else default_language
        return Block(kind=kind, span=span, language=language)
    children = node.children if kind == "list" else ()
    items = {line for child in children if (line := getattr(child, "line", None))}
    breaks = tuple(sorted(line for line in items if span.start < line <= span.end))
    return Block(kind=kind, span=span, breaks=breaks)


def _directive_block(node: "nodes.Element", span: LineSpan, lines: Sequence[str]) -> Block:
    name: str = node["name"]
    if name in CODE_DIRECTIVES:
        named = _language(node["argument"]) if name in NAMED_LANGUAGE else None
        return Block(kind="code", span=span, language="python" if name in PYTHON_DIRECTIVES else named)
    if name in TABLE_DIRECTIVES:
        return Block(kind="table", span=span, breaks=_list_rows(lines, span) if name == "list-table" else ())
    if name in SILENT_DIRECTIVES:
        return Block(kind="html", span=span)
    return Block(kind="paragraph", span=span, breaks=_inner_paragraphs(lines, span))


def _language(argument: str) -> str | None:
    named = LANGUAGE.match(argument)
    return None if named is None or named[0] in ("none", "default") else named[0].lower()


def _list_rows(lines: Sequence[str], span: LineSpan) -> tuple[int, ...]:
    numbers = range(span.start + 1, span.end + 1)
    return tuple(number for number in numbers if lines[number - 1].lstrip().startswith("* -"))


def _inner_paragraphs(lines: Sequence[str], span: LineSpan) -> tuple[int, ...]:
    numbers = range(span.start + 1, span.end + 1)
    return tuple(number for number in numbers if lines[number - 1].strip() and not lines[number - 2].strip())


def _bibliographic_fields(blocks: Sequence[Block], lines: Sequence[str]) -> dict[str, Any]:
    """Return the field list at the top of the file, or right below its title, as `name: value`."""
    first = next((block for block in blocks[:3] if block.kind not in ("heading", "html")), None)
    if first is None or not lines[first.span.start - 1].startswith(":"):
        return {}
    listed = (FIELD.match(line) for line in lines[first.span.start - 1 : first.span.end])
    fields = [(field[1].lower(), field[2].strip()[:FIELD_CHARS]) for field in listed if field is not None]
    return dict(fields[:MAX_FIELDS])
