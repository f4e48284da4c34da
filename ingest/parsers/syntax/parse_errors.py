"""How much of a source file its grammar could not read."""

from collections.abc import Iterator
from math import inf
from typing import TYPE_CHECKING, Final

from ingest.parsers.syntax.leading_comments import rows_of

if TYPE_CHECKING:
    from tree_sitter import Node

#: children of one error from which on the tree is no use: a query looks at each again for each
MAX_ERROR_CHILDREN: Final = 5_000


def error_lines(root: "Node") -> float:
    """Return how many lines the errors of a tree cover, a missing token one; infinite where one is
    too wide.
    """
    count = last = 0
    for node in _errors(root):
        if node.child_count > MAX_ERROR_CHILDREN:
            return inf
        start, end = rows_of(node)
        count += max(0, end - max(start - 1, last))
        last = max(last, end)
    return count


def _errors(root: "Node") -> Iterator["Node"]:
    """Return the outermost errors and the missing tokens, in order."""
    pending = [root] if root.has_error else []
    while pending:
        node = pending.pop()
        if node.is_error or node.is_missing:
            yield node
        else:
            pending.extend(child for child in reversed(node.children) if child.has_error)
