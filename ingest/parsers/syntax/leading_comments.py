"""Lines of comments, decorators and attributes, which belong to what stands below them."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node


def rows_of(node: "Node") -> tuple[int, int]:
    """First and last line of a node, from 1; an end at the start of a line is that of the line before."""
    start, end = node.start_point.row, node.end_point
    last = end.row - 1 if end.column == 0 and end.row > start else end.row
    return start + 1, last + 1


def leading_lines(lines: Sequence[str], nodes: Iterable["Node"]) -> frozenset[int]:
    """Return the lines that such nodes fill, without those that hold anything else."""
    return frozenset(
        line
        for node in nodes
        if _stands_alone(lines, node)
        for start, end in (rows_of(node),)
        for line in range(start, end + 1)
    )


def _stands_alone(lines: Sequence[str], node: "Node") -> bool:
    """Return whether nothing else stands on the node's first and last line.

    Columns are bytes, at least as many as characters: after other characters than ASCII what follows the
    node on its last line may be missed.
    """
    (first, column), (last, end_column) = node.start_point, node.end_point
    before = lines[first][:column]
    # one that takes its line's end with it, as Rust's doc comments do, ends where the next line begins
    after = lines[last][end_column:] if end_column and last < len(lines) else ""
    return not before.strip() and not after.strip()
