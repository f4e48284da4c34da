"""Grammars by language, each loaded with the first file that needs it."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ingest.parsers.file_types import extension_of

if TYPE_CHECKING:
    from tree_sitter import Parser, Query

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
