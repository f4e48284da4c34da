"""Definitions and statements of a source file, from its syntax tree."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ingest.parsers.syntax.grammar import Grammar
from ingest.parsers.syntax.languages import grammars_for, load_grammar
from ingest.parsers.syntax.leading_comments import leading_lines
from ingest.parsers.syntax.parse_errors import count_error_lines
from ingest.parsers.syntax.units import read_units
from ingest.parsers.types import FileType, Syntax

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

#: UTF-8 bytes of the longest file that is parsed
MAX_BYTES: Final = 600_000
#: share of a file's non-blank lines that errors of the tree may cover
MAX_ERROR_SHARE: Final = 0.1

#: depth of nodes that the query visits: it keeps a state for each of a node's ancestors
MAX_NODE_DEPTH: Final = 400

Captures = Mapping[str, Sequence["Node"]]


def read_syntax(lines: Sequence[str], file: FileType) -> Syntax | None:
    """Return the definitions and statements of a source file, None where every grammar finds many errors.

    Hostile text may take any amount of time and memory, and may crash the process.
    """
    grammars = grammars_for(file.language, file.path)
    content = "\n".join(lines).encode() if grammars else b""
    if not content or len(content) > MAX_BYTES:
        return None
    filled = sum(1 for line in lines if line.strip())
    for grammar in grammars:
        tree = load_grammar(grammar)[0].parse(content)
        if count_error_lines(tree.root_node) <= MAX_ERROR_SHARE * filled:
            return _build_syntax(lines, content, _run_query(tree, grammar))
    return None


def _run_query(tree: "Tree", grammar: Grammar) -> Captures:
    from tree_sitter import QueryCursor

    cursor = QueryCursor(load_grammar(grammar)[1])
    cursor.set_max_start_depth(MAX_NODE_DEPTH)
    return cursor.captures(tree.root_node)


def _build_syntax(lines: Sequence[str], content: bytes, captures: Captures) -> Syntax:
    leading = leading_lines(lines, captures.get("leading", ()))
    return Syntax(
        units=read_units(captures, content, leading),
        statements=_statement_depths(captures.get("statement", ()), leading),
    )


def _statement_depths(nodes: Sequence["Node"], leading: frozenset[int]) -> dict[int, int]:
    """Return the depth of each statement by the line on which it, or the comments above it, begin."""
    depths: dict[int, int] = {}
    open_ends: list[int] = []
    last_line = 0
    for start, end, line in sorted(
        (node.start_byte, -node.end_byte, node.start_point.row + 1) for node in nodes
    ):
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        if line != last_line and line not in leading:
            last_line = line
            while line - 1 in leading:
                line -= 1
            depths.setdefault(line, len(open_ends))
        open_ends.append(-end)
    return depths
