"""Definitions and statements of a source file, from its syntax tree."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import inf
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ingest.parsers.file_types import extension_of
from ingest.parsers.syntax.units import leading_lines, line_range, read_units
from ingest.parsers.types import FileType, Syntax

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query, Tree


_QUERIES: Final = Path(__file__).parent / "queries"


@dataclass(frozen=True, slots=True)
class Grammar:
    """A tree-sitter grammar and the nodes that chunks are made of.

    The query captures definitions under the language's term for them (`@class`, `@method`), and
    `@wrapper`   a node around one definition that belongs to it: decorators, template parameters
    `@leading`   a node that belongs to the definition or statement below it: comments, attributes
    `@statement` a statement at which a definition that is too long may be cut, inner ones too
    """

    #: `module:function` of the grammar's wheel that returns its language
    language: str
    #: names of the files in `queries` that make up the query
    queries: tuple[str, ...]


_TYPESCRIPT: Final = ("ecmascript", "typescript")
_TSX: Final = Grammar("tree_sitter_typescript:language_tsx", (*_TYPESCRIPT, "jsx"))
_CPP: Final = Grammar("tree_sitter_cpp:language", ("c", "cpp"))
#: by language, the likeliest first; the next is tried where the one before finds errors
GRAMMARS: Final = MappingProxyType(
    {
        "python": (Grammar("tree_sitter_python:language", ("python",)),),
        "javascript": (Grammar("tree_sitter_javascript:language", ("ecmascript", "javascript", "jsx")),),
        "typescript": (Grammar("tree_sitter_typescript:language_typescript", _TYPESCRIPT),),
        "go": (Grammar("tree_sitter_go:language", ("go",)),),
        "java": (Grammar("tree_sitter_java:language", ("java",)),),
        "rust": (Grammar("tree_sitter_rust:language", ("rust",)),),
        "c": (Grammar("tree_sitter_c:language", ("c",)), _CPP),
        "cpp": (_CPP,),
        "csharp": (Grammar("tree_sitter_c_sharp:language", ("csharp",)),),
        "ruby": (Grammar("tree_sitter_ruby:language", ("ruby",)),),
        "php": (Grammar("tree_sitter_php:language_php", ("php",)),),
        "bash": (Grammar("tree_sitter_bash:language", ("bash",)),),
    }
)


def grammars_for(language: str | None, path: str) -> tuple[Grammar, ...]:
    """Return the grammars for a file, the likeliest first; empty for a language without one."""
    if extension_of(path) == "tsx":
        return (_TSX,)
    return GRAMMARS.get(language or "", ())


@cache
def load_grammar(grammar: Grammar) -> "tuple[Parser, Query]":
    """Return the parser and the compiled query of a grammar, built once per process."""
    from tree_sitter import Language, Parser, Query

    language = Language(resolve_name(grammar.language)())
    query = "\n".join((_QUERIES / f"{name}.scm").read_text(encoding="utf-8") for name in grammar.queries)
    return Parser(language), Query(language, query)


#: UTF-8 bytes of the longest file that is parsed
MAX_BYTES: Final = 600_000
#: share of a file's non-blank lines that errors of the tree may cover
MAX_ERROR_SHARE: Final = 0.1
#: children of one error above which the tree is useless: a query's time is quadratic in them
MAX_ERROR_CHILDREN: Final = 5_000

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
            captures = _run_query(tree, grammar)
            leading = leading_lines(lines, captures.get("leading", ()))
            return Syntax(
                units=read_units(captures, content, leading),
                statements=_statement_depths(captures.get("statement", ()), leading),
            )
    return None


def _run_query(tree: "Tree", grammar: Grammar) -> Captures:
    from tree_sitter import QueryCursor

    cursor = QueryCursor(load_grammar(grammar)[1])
    cursor.set_max_start_depth(MAX_NODE_DEPTH)
    return cursor.captures(tree.root_node)


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
