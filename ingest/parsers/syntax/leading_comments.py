"""Lines of comments, decorators and attributes that belong to the code below them."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node


def line_range(node: "Node") -> tuple[int, int]:
    """Return the first and last line of a node, from 1.

    A node that ends at the start of a line ends on the line before.
    """
    start, end = node.start_point.row, node.end_point
    last = end.row - 1 if end.column == 0 and end.row > start else end.row
    return start + 1, last + 1


def leading_lines(lines: Sequence[str], nodes: Iterable["Node"]) -> frozenset[int]:
    """Return the lines of the nodes, without nodes that share a line with anything else."""
    return frozenset(
        line
        for node in nodes
        if _has_lines_to_itself(lines, node)
        for start, end in (line_range(node),)
        for line in range(start, end + 1)
    )


def _has_lines_to_itself(lines: Sequence[str], node: "Node") -> bool:
    """Return whether the node has its first and last line to itself.

    Columns are bytes, at least as many as characters: after non-ASCII characters, text behind the node on
    its last line may be missed.
    """
    (first, column), (last, end_column) = node.start_point, node.end_point
    before = lines[first][:column]
    # a node that includes its line end, such as Rust's doc comments, ends where the next line begins
    after = lines[last][end_column:] if end_column and last < len(lines) else ""
    return not before.strip() and not after.strip()
