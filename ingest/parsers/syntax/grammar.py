"""What is asked of a language's syntax tree."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """A tree-sitter grammar and the nodes of it that chunks are made of.

    The query captures definitions under what the language calls them (`@class`, `@method`), and
    `@wrapper`   what stands around one definition and belongs to it: decorators, template parameters
    `@leading`   what belongs to the definition or statement below it: comments, attributes
    `@statement` where a definition that is too long may be cut, inner ones too
    """

    #: imports the grammar's wheel and gives its language, for tree-sitter's `Language`
    load: Callable[[], object]
    query: str


def children_of(*node_types: str) -> str:
    """Query that captures whatever stands directly in nodes of these types as statements."""
    return "\n".join(f"({node_type} (_) @statement)" for node_type in node_types)
