"""Description of a language's grammar: its tree-sitter language and the query over its syntax trees."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """A tree-sitter grammar and the nodes that chunks are made of.

    The query captures definitions under the language's term for them (`@class`, `@method`), and
    `@wrapper`   a node around one definition that belongs to it: decorators, template parameters
    `@leading`   a node that belongs to the definition or statement below it: comments, attributes
    `@statement` a statement at which a definition that is too long may be cut, inner ones too
    """

    #: imports the grammar's wheel and returns its language, for tree-sitter's `Language`
    load: Callable[[], object]
    query: str


def children_of(*node_types: str) -> str:
    """Return a query that captures the children of nodes of these types as statements."""
    return "\n".join(f"({node_type} (_) @statement)" for node_type in node_types)
