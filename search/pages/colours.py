"""Code in colours: each line as HTML, its words in elements of a few classes, within limits of size and time.

Pygments says what a word is. Its lexers are regular expressions, some of which take long over hostile text:
a page has one allowance of time, and what comes after it stays plain.
"""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, String, _TokenType

#: Longer text isn't coloured at all, longer lines aren't either: data and minified code.
MAX_CHARS, MAX_LINE_CHARS = 100_000, 1_000
ALLOWANCE_S = 0.5

#: Names of lexers with what files and fences call the language, beside the name itself.
_LANGUAGES: Final[Mapping[str, str]] = {
    "bash": "sh shell zsh bashrc ksh shell-session",
    "c": "h",
    "cpp": "c++ cc cxx hpp hh hxx",
    "csharp": "cs c#",
    "css": "scss less",
    "diff": "patch",
    "docker": "dockerfile",
    "go": "golang",
    "html": "htm xhtml vue svelte",
    "ini": "cfg conf properties editorconfig",
    "java": "",
    "javascript": "js mjs cjs jsx node",
    "json": "json5 jsonc webmanifest jsonl ndjson",
    "kotlin": "kt kts",
    "lua": "",
    "make": "makefile mk",
    "nginx": "",
    "perl": "pl pm",
    "php": "",
    "powershell": "ps1 psm1",
    "python": "py pyi py3 python3 pyw",
    "r": "",
    "ruby": "rb rake gemspec gemfile",
    "rust": "rs",
    "scala": "sc",
    "sql": "psql postgresql mysql sqlite",
    "swift": "",
    "toml": "",
    "typescript": "ts tsx mts cts",
    "xml": "svg xsd xsl rss atom plist",
    "yaml": "yml",
}
_LEXER_OF: Final = {
    called: lexer for lexer, names in _LANGUAGES.items() for called in (lexer, *names.split())
}
#: The class of an element by what the word is; the first that holds.
_CLASSES: Final[Sequence[tuple[_TokenType, str]]] = (
    (Comment, "c"),
    (Keyword.Constant, "n"),
    (Keyword, "k"),
    (Operator.Word, "k"),
    (String, "s"),
    (Number, "n"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Namespace, "f"),
    (Name.Tag, "k"),
    (Name.Attribute, "t"),
    (Name.Builtin, "t"),
    (Name.Decorator, "t"),
    (Name.Constant, "n"),
    (Generic.Deleted, "d"),
    (Generic.Inserted, "i"),
    (Generic.Heading, "f"),
    (Generic.Subheading, "f"),
)
_NAMED = re.compile(r"[\w+#.-]+")


def language_of_path(path: str) -> str:
    """Give what a file's name says of its language; '' when nothing that is known."""
    name = path.rpartition("/")[2].lower()
    return _LEXER_OF.get(name.rpartition(".")[2], "")


def language_of_fence(info: str) -> str:
    """Give the language that the line which opens a fence names; '' when none that is known."""
    named = _NAMED.match(info.strip().lstrip("{."))
    return _LEXER_OF.get(named[0].lower(), "") if named else ""


class Colours:
    """The colours of one page: what all its pieces of code take together is bounded."""

    def __init__(self, allowance_s: float = ALLOWANCE_S) -> None:
        self._left_s = allowance_s

    def lines(self, lines: Sequence[str], language: str) -> list[SafeString]:
        """Give each line as HTML, in the colours of a language that this module knows."""
        is_long = sum(map(len, lines)) > MAX_CHARS or any(len(line) > MAX_LINE_CHARS for line in lines)
        if not language or is_long or self._left_s <= 0:
            return [escape(line) for line in lines]
        started = time.monotonic()
        written = _written(self._words("\n".join(lines), language, started))
        self._left_s -= time.monotonic() - started
        return written

    def _words(self, text: str, language: str, started: float) -> Iterator[tuple[str, str]]:
        for at, kind, word in _lexer(language).get_tokens_unprocessed(text):
            if time.monotonic() - started > self._left_s:
                yield "", text[at:]
                return
            yield _class_of(kind), word


@cache
def _lexer(language: str) -> Any:
    return get_lexer_by_name(language)


@cache
def _class_of(kind: _TokenType) -> str:
    return next((name for of, name in _CLASSES if kind in of), "")


def _written(words: Iterator[tuple[str, str]]) -> list[SafeString]:
    """Give the lines of words with their classes; what goes over several lines is begun again in each."""
    lines: list[list[str]] = [[]]
    for name, word in words:
        for index, piece in enumerate(word.split("\n")):
            if index:
                lines.append([])
            if piece:
                html = escape(piece)
                lines[-1].append(f'<span class="{name}">{html}</span>' if name else html)
    return [mark_safe("".join(line)) for line in lines]  # noqa: S308  each piece is escaped
