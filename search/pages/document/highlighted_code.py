"""Syntax highlighting: code as lines of HTML with a few CSS classes, within limits of size and time.

A sandboxed process classifies the words (`search.documents.highlight`); unclassified ones stay plain.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from search.documents.highlight.spans import Span, spans_of

#: Longer texts, and texts with longer lines, are not highlighted: they are data and minified code.
MAX_CHARS, MAX_LINE_CHARS = 100_000, 1_000

#: Names of lexers with the other names of the language in file names and fences.
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
_LEXER_OF: Final = {name: lexer for lexer, names in _LANGUAGES.items() for name in (lexer, *names.split())}
_LANGUAGE_NAME = re.compile(r"[\w+#.-]+")


def language_of_path(path: str) -> str:
    """Return the language of a file by its name; '' if unknown."""
    name = path.rpartition("/")[2].lower()
    return _LEXER_OF.get(name.rpartition(".")[2], "")


def language_of_fence(info: str) -> str:
    """Return the language of a fence's info string; '' if unknown."""
    name = _LANGUAGE_NAME.match(info.strip().lstrip("{."))
    return _LEXER_OF.get(name[0].lower(), "") if name else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """Lines of code, and the lexer of their language; '' if unknown."""

    lines: Sequence[str]
    language: str

    @property
    def text(self) -> str:
        """Return the lines as one text."""
        return "\n".join(self.lines)

    @property
    def is_highlightable(self) -> bool:
        """Return whether the language is known and the code short enough."""
        longest = max(map(len, self.lines), default=0)
        return bool(self.language) and longest <= MAX_LINE_CHARS and sum(map(len, self.lines)) <= MAX_CHARS


def highlight_lines(pieces: Sequence[Code]) -> list[list[SafeString]]:
    """Return the lines of each piece of code on a page as HTML. Their total time is limited."""
    found = iter(spans_of([(code.language, code.text) for code in pieces if code.is_highlightable]))
    written = [
        _render_lines(_split_words(code.text, next(found) if code.is_highlightable else ()))
        for code in pieces
    ]
    return [lines if code.lines else [] for code, lines in zip(pieces, written, strict=True)]


def _split_words(text: str, spans: Sequence[Span]) -> Iterator[tuple[str, str]]:
    """Split the text into (class, word) pairs; the class is '' outside of spans."""
    at = 0
    for start, end, name in spans:
        if start >= at:
            yield "", text[at:start]
            yield name, text[start:end]
            at = end
    yield "", text[at:]


def _render_lines(words: Iterator[tuple[str, str]]) -> list[SafeString]:
    """Return lines of HTML; a word that spans several lines gets an element in each."""
    lines: list[list[str]] = [[]]
    for name, word in words:
        for index, piece in enumerate(word.split("\n")):
            if index:
                lines.append([])
            if piece:
                html = escape(piece)
                lines[-1].append(f'<span class="{name}">{html}</span>' if name else html)
    return [mark_safe("".join(line)) for line in lines]  # noqa: S308  each piece is escaped
