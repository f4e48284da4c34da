"""Lines of a source file that its grammar could not read."""

from collections.abc import Iterator
from math import inf
from typing import TYPE_CHECKING, Final

from ingest.parsers.syntax.leading_comments import line_range

if TYPE_CHECKING:
    from tree_sitter import Node

#: children of one error above which the tree is useless: a query's time is quadratic in them
MAX_ERROR_CHILDREN: Final = 5_000


def count_error_lines(root: "Node") -> float:
    """Return the number of lines that the errors of a tree cover, one for a missing token.

    Infinite where an error has more than MAX_ERROR_CHILDREN children.
    """
    count = last = 0
    for node in _errors(root):
        if node.child_count > MAX_ERROR_CHILDREN:
            return inf
        start, end = line_range(node)
        count += max(0, end - max(start - 1, last))
        last = max(last, end)
    return count


def _errors(root: "Node") -> Iterator["Node"]:
    """Yield the outermost errors and the missing tokens, in order."""
    pending = [root] if root.has_error else []
    while pending:
        node = pending.pop()
        if node.is_error or node.is_missing:
            yield node
        else:
            pending.extend(child for child in reversed(node.children) if child.has_error)
