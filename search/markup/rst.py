"""Removal of the markup of reStructuredText."""

import re
from textwrap import dedent

from search.markup.markdown import PROSE_START, Verbatim, strip_emphasis
from search.markup.tables import join_cells, join_separated_values, join_simple_cells

_CODE_NAMES = """
code code-block sourcecode parsed-literal literalinclude testcode testsetup testoutput doctest prompt ipython
math graphviz digraph productionlist mermaid uml
"""
_SILENT_NAMES = """
toctree index include raw image contents meta highlight highlightlang default-role role currentmodule module
py:currentmodule py:module sectnum title replace unicode date tabularcolumns
"""
#: Directives whose content is code, and instructions to a tool, which readers don't see; all others are text.
CODE_DIRECTIVES, SILENT_DIRECTIVES = frozenset(_CODE_NAMES.split()), frozenset(_SILENT_NAMES.split())
_CHANGES = {"versionadded": "New in ", "versionchanged": "Changed in ", "deprecated": "Deprecated since "}
_BELOW = r"\n(?:\1[ \t]+[^\n]*|[ \t]*(?=\n|\Z))"
# Explicit markup: its indentation, its first line, and the lines below that are indented more.
_EXPLICIT = re.compile(rf"\n([ \t]*)\.\.(?=[ \t\n]|\Z)[ \t]*([^\n]*)((?:{_BELOW})*)")
_DIRECTIVE = re.compile(r"([\w:.+-]+)::(?:[ \t]+|\Z)(.*)")
_NOTE = re.compile(r"\[[^\]\n]+\][ \t]+(.*)")
_OPTIONS = re.compile(r"(?:\n[ \t]*+:[\w-]+:[^\n]*)*")
# The rest of a literal block that begins in the chunk before.
_FIRST_LINES = re.compile(r"\n\n((?: {4}|\t)[^\n]*(?:\n(?: {4}|\t)[^\n]*|\n[ \t]*(?=\n|\Z))*)")
_LITERAL = re.compile(rf"\n([ \t]*+)([^\n]*?)::[ \t]*\n[ \t]*+(?=\n)((?:{_BELOW})+)")
_LITERAL_ALONE = re.compile(r"(?<=\s)::(?=\s*\n\s*\n|\s*\Z)")
_LITERAL_NEXT = re.compile(r"::(?=[ \t]*\n[ \t]*\n|\s*\Z)")
_DOCTEST = re.compile(r"\n([ \t]*>>>[^\n]*(?:\n[ \t]*+[^\s][^\n]*)*)")
_SPAN = re.compile(
    r"``((?:[^`\n]++|\n(?!\s*\n)|`(?!`))+)``"
    r"|(?::[\w:+.-]{1,40}:)?`(?<![\w>]`)(?=\S)([^`]+)(?<=\S)`(?:__?(?!\w)|:[\w:+.-]+:)?"
    r"|\\(\s|\S)|<[^<>\n]+>`__?"
)
_TARGET = re.compile(r"\s*<[^<>]*>\Z")
_FOOTNOTE = re.compile(r"\[(?:#?[\w.-]*|\*)\]_(?!\w)")
_SUBSTITUTION = re.compile(r"\|(?<!\w\|)(?=\S)([^|\n]+)(?<=\S)\|_{0,2}(?!\w)")
_REFERENCE = re.compile(r"\b(\w(?:[\w.-]*[^\W_])?)__?(?!\w)")
_FIELD = re.compile(r"\n[ \t]*+:(?:[\w-]+[ \t]+)*([\w.-]+):(?=\s)")
_LINE = re.compile(
    r"\n[ \t]*+(?:(?:([!-/:-@\[-`{-~])\1{2,}|[-=+][-=+ \t]+)[ \t]*(?=\n|\Z)|(?:[-*+•][ \t]+)+)"
)


def strip_rst(verbatim: Verbatim, *, is_code: bool) -> str:
    """Return a text without markup, with stand-ins for what means itself.

    `is_code`: most of the text is code, all of it if nothing introduces it.
    """
    text = f"\n\n{verbatim.text}"
    is_introduced = "\n.. " in text or _LITERAL.search(text) is not None
    if is_code and not is_introduced:
        return verbatim.keep_lines(text)
    text = _strip_explicit(text, verbatim)
    if (first := _FIRST_LINES.match(text)) and not PROSE_START.match(first[1]):
        text = verbatim.keep_lines(dedent(first[1])) + text[first.end() :]
    text = _LITERAL.sub(lambda found: f"\n{found[2]}::{verbatim.keep_lines(dedent(found[3]))}", text)
    text = _LITERAL_NEXT.sub(":", _LITERAL_ALONE.sub("", text))
    text = _DOCTEST.sub(lambda found: verbatim.keep_lines(dedent(found[1])), text)
    text = _SUBSTITUTION.sub(r"\1", _SPAN.sub(lambda found: _keep_span(found, verbatim), text))
    text = _REFERENCE.sub(r"\1", _FOOTNOTE.sub("", text))
    text = _LINE.sub("\n\n", join_cells(join_simple_cells(text)))
    return strip_emphasis(_FIELD.sub(r"\n\n\1:", text))


def _strip_explicit(text: str, verbatim: Verbatim) -> str:
    return _EXPLICIT.sub(lambda found: _replace_explicit(found, verbatim), text)


def _replace_explicit(found: re.Match[str], verbatim: Verbatim) -> str:
    """Return what readers see of explicit markup: nothing of targets, comments and instructions."""
    _, first, below = found.groups()
    directive = _DIRECTIVE.fullmatch(first)
    if directive is None:
        note = _NOTE.fullmatch(first)
        return f"\n\n{note[1]}{below}" if note else "\n\n"
    name, argument = directive.groups()
    content = below[_OPTIONS.match(below).end() :]  # type: ignore[union-attr]  # it may be empty, and matches
    if name == "literalinclude" or (name in SILENT_DIRECTIVES and name != "title"):
        return "\n\n"
    if name in CODE_DIRECTIVES:
        return verbatim.keep_lines(dedent(content))
    if name == "csv-table":
        content = join_separated_values(content.strip())
    argument = "" if name == "figure" else _CHANGES.get(name, "") + argument
    return f"\n\n{argument}\n\n{_strip_explicit(content, verbatim)}\n\n"


def _keep_span(found: re.Match[str], verbatim: Verbatim) -> str:
    literal, text, escaped = found.groups()
    if not (literal or text):
        return verbatim.keep(escaped) if escaped and not escaped.isspace() else ""
    if text:
        text = _TARGET.sub("", text).lstrip("!")
        text = text.rpartition(".")[2] if text.startswith("~") else text
    return verbatim.keep(literal or text)
