"""Grammars by language, each loaded with the first file that needs it."""

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ingest.parsers.file_types import extension_of
from ingest.parsers.syntax.grammar import Grammar
from ingest.parsers.syntax.grammars.bash import BASH
from ingest.parsers.syntax.grammars.c import CPP, C
from ingest.parsers.syntax.grammars.csharp import CSHARP
from ingest.parsers.syntax.grammars.go import GO
from ingest.parsers.syntax.grammars.java import JAVA
from ingest.parsers.syntax.grammars.javascript import JAVASCRIPT, TSX, TYPESCRIPT
from ingest.parsers.syntax.grammars.php import PHP
from ingest.parsers.syntax.grammars.python import PYTHON
from ingest.parsers.syntax.grammars.ruby import RUBY
from ingest.parsers.syntax.grammars.rust import RUST

if TYPE_CHECKING:
    from tree_sitter import Parser, Query

#: by language, the likeliest first; the next is tried where the one before finds errors
GRAMMARS: Final = MappingProxyType(
    {
        "python": (PYTHON,),
        "javascript": (JAVASCRIPT,),
        "typescript": (TYPESCRIPT,),
        "go": (GO,),
        "java": (JAVA,),
        "rust": (RUST,),
        "c": (C, CPP),
        "cpp": (CPP,),
        "csharp": (CSHARP,),
        "ruby": (RUBY,),
        "php": (PHP,),
        "bash": (BASH,),
    }
)


def grammars_for(language: str | None, path: str) -> tuple[Grammar, ...]:
    """Return the grammars for a file, the likeliest first; empty for a language without one."""
    if extension_of(path) == "tsx":
        return (TSX,)
    return GRAMMARS.get(language or "", ())


@cache
def load_grammar(grammar: Grammar) -> "tuple[Parser, Query]":
    """Return the parser and the compiled query of a grammar, built once per process."""
    from tree_sitter import Language, Parser, Query

    language = Language(grammar.load())
    return Parser(language), Query(language, grammar.query)
