"""Text formats of libraries and snippets for agents, exact to the byte."""

import re
from collections.abc import Sequence

from search.libraries.find import RankedLibrary
from search.libraries.snippets import LibrarySnippet
from search.retrieval.query.filters import ChunkKind
from search.retrieval.text.fences import put_in_fence

NO_LIBRARIES = "No libraries found matching your search."
DEFAULT_BRANCH = "default branch"
SEPARATOR = "\n\n---\n\n"

# CommonMark 0.31, fenced code blocks: three or more marks, indented by at most three spaces.
_FENCE = re.compile(r"^ {0,3}(?P<marks>`{3,}|~{3,})(?P<info>.*)$", re.MULTILINE)


def libraries_text(found: Sequence[RankedLibrary]) -> str:
    """Return the text of libraries, numbered from 1 and separated by blank lines."""
    if not found:
        return NO_LIBRARIES
    return "\n\n".join(_library_text(number, each) for number, each in enumerate(found, start=1))


def snippets_text(rules: Sequence[str], snippets: Sequence[LibrarySnippet]) -> str:
    """Return the text of the rules, then of the snippets; '' when there are none of either."""
    parts = [rules_text(rules), *map(snippet_text, snippets)]
    return SEPARATOR.join(part for part in parts if part)


def rules_text(rules: Sequence[str]) -> str:
    """Return the rules under their heading; '' without any."""
    return "\n".join(["## Library Rules", *(f"- {_line(rule)}" for rule in rules)]) if rules else ""


def snippet_text(snippet: LibrarySnippet) -> str:
    """Return the snippet's title and breadcrumb, if any, then its text; code is fenced."""
    head = [
        f"### {_line(snippet.title)}" if snippet.title else "",
        f"*{_line(snippet.breadcrumb)}*" if snippet.breadcrumb else "",
    ]
    return "\n".join([*filter(None, head), _body(snippet)])


def _library_text(number: int, found: RankedLibrary) -> str:
    tags = ", ".join(_line(version.tag) for version in found.versions)
    return "\n".join(
        [
            f"{number}. {_line(found.title) or found.key}",
            f"   Library ID: {found.id}",
            f"   Description: {_line(found.description) or 'No description'}",
            f"   Snippets: {found.total_snippets} | Trust Score: {found.trust_score:.1f}/10",
            f"   Available Versions: {tags or DEFAULT_BRANCH}",
        ]
    )


def _body(snippet: LibrarySnippet) -> str:
    """Return the snippet's text with every fence closed.

    Code from Markdown brings its own fences, unless it is a part of a longer block.
    """
    fences = _fences(snippet.text)
    is_left_open = len(fences) % 2 == 1
    if snippet.kind is ChunkKind.CODE and (is_left_open or not fences or not snippet.is_markdown):
        return put_in_fence(snippet.text, snippet.language or "")
    return f"{snippet.text}\n{fences[-1]}" if is_left_open else snippet.text


def _fences(text: str) -> list[str]:
    """Return the marks of the fences in order: opening and closing ones alternate, the last may be open."""
    fences: list[str] = []
    for match in _FENCE.finditer(text):
        marks, info = match["marks"], match["info"]
        if len(fences) % 2 == 0:
            is_fence = marks[0] == "~" or "`" not in info
        else:
            is_fence = marks.startswith(fences[-1]) and not info.strip()
        if is_fence:
            fences.append(marks)
    return fences


def _line(text: str) -> str:
    return " ".join(filter(None, map(str.strip, text.splitlines())))
