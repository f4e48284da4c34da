"""Code in colours: each line as HTML, its words in elements of a few classes, within limits of size and time.

A limited process classifies the words (`search.documents.highlight`); unclassified ones stay plain.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from search.documents.highlight.spans import Span, spans_of

#: Longer text isn't coloured at all, longer lines aren't either: data and minified code.
MAX_CHARS, MAX_LINE_CHARS = 100_000, 1_000

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
_NAMED = re.compile(r"[\w+#.-]+")


def language_of_path(path: str) -> str:
    """Return what a file's name says of its language; '' when nothing that is known."""
    name = path.rpartition("/")[2].lower()
    return _LEXER_OF.get(name.rpartition(".")[2], "")


def language_of_fence(info: str) -> str:
    """Return the language that the line which opens a fence names; '' when none that is known."""
    named = _NAMED.match(info.strip().lstrip("{."))
    return _LEXER_OF.get(named[0].lower(), "") if named else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """Lines of code, and the lexer of their language; '' when it isn't known."""

    lines: Sequence[str]
    language: str

    @property
    def text(self) -> str:
        """Return the lines as one text."""
        return "\n".join(self.lines)

    @property
    def is_to_colour(self) -> bool:
        """Return whether the language is known, and the code not too long."""
        longest = max(map(len, self.lines), default=0)
        return bool(self.language) and longest <= MAX_LINE_CHARS and sum(map(len, self.lines)) <= MAX_CHARS


def coloured(pieces: Sequence[Code]) -> list[list[SafeString]]:
    """Return the lines of each piece of code on a page as HTML. What they take together is bounded."""
    found = iter(spans_of([(code.language, code.text) for code in pieces if code.is_to_colour]))
    written = [_written(_words(code.text, next(found) if code.is_to_colour else ())) for code in pieces]
    return [lines if code.lines else [] for code, lines in zip(pieces, written, strict=True)]


def _words(text: str, spans: Sequence[Span]) -> Iterator[tuple[str, str]]:
    """Cut the text into (class, word)s, the class '' where no span is."""
    at = 0
    for start, end, name in spans:
        if start >= at:
            yield "", text[at:start]
            yield name, text[start:end]
            at = end
    yield "", text[at:]


def _written(words: Iterator[tuple[str, str]]) -> list[SafeString]:
    """Return the lines of words with their classes; what goes over several lines is begun again in each."""
    lines: list[list[str]] = [[]]
    for name, word in words:
        for index, piece in enumerate(word.split("\n")):
            if index:
                lines.append([])
            if piece:
                html = escape(piece)
                lines[-1].append(f'<span class="{name}">{html}</span>' if name else html)
    return [mark_safe("".join(line)) for line in lines]  # noqa: S308  each piece is escaped
