"""Plain text of chunks, as readers of the rendered document see it."""

import re

from search.markup.markdown import Verbatim, descriptions, strip_markdown
from search.markup.rst import strip_rst
from search.markup.tables import join_cells, join_separated_values
from search.retrieval.text.plain_text import SEPARATOR

_RST = frozenset({"rst", "rest"})
_SEPARATED = frozenset({"csv", "tsv"})
# Formats of which a chunk has the source. The text of others is as its parser wrote it.
_MARKDOWN = frozenset(
    {"md", "markdown", "mdx", "mdown", "mkd", "mdc", "ipynb", "txt", "text", "adoc", "org", "tex"}
)
# The first letters of the extensions of office files.
_OFFICE = frozenset({"doc", "dot", "ppt", "pps", "pot", "xls", "xlt"})
_ITEM = re.compile(r"\n[ \t]*(?:>[ \t>]*|[-•][ \t]+)")
# Stands for SEPARATOR where a stop may make it needless.
_END_MARK = "\x03"
_PARAGRAPH_END = re.compile(r"\n\s*\n\s*")
# A line break between Chinese or Japanese characters.
_IDEOGRAPHS = "\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
_WRAPPED = re.compile(rf"\n(?<=[{_IDEOGRAPHS}]\n)[ \t]*(?=[{_IDEOGRAPHS}])")
_AFTER_STOP = re.compile(f" {_END_MARK} (?:(?<=[.:;,!?…] . )|(?<=[.!?…][)\"'”’»] . ))")
_AFTER_WIDE_STOP = re.compile(f" {_END_MARK} (?<=[。！？：；、，」] . )")


def stored_plain_text(text: str, path: str, *, is_code: bool) -> str:
    """Return what is stored as a chunk's plain text: '' for code without markup, a space for no text."""
    plain = plain_text(text, path, is_code=is_code)
    return "" if is_code and plain == text else plain or " "


def plain_text(text: str, path: str, *, is_code: bool) -> str:
    """Return the text of a chunk of the document at `path` without markup; code keeps its lines.

    A text of nothing but images is their descriptions. SEPARATOR and LINKS_MARK are in it. `is_code`: most of
    the text is code.
    """
    _, dot, extension = path.rpartition("/")[2].rpartition(".")
    extension = extension.lower() if dot else "txt"
    is_markdown = extension in _MARKDOWN
    if is_code and not is_markdown and extension not in _RST:
        return text
    verbatim = Verbatim(text)
    if is_markdown:
        stripped = strip_markdown(verbatim, is_code=is_code, has_indented_code=extension != "mdx")
    elif extension in _RST:
        stripped = strip_rst(verbatim, is_code=is_code)
    elif extension in _SEPARATED:
        stripped = join_separated_values(verbatim.text)
    else:
        is_office = extension[:3] in _OFFICE
        stripped = _ITEM.sub("\n\n", join_cells(f"\n{verbatim.text}", are_all_rows=is_office))
    plain = verbatim.restore(_flow(stripped)).strip("\n")
    return plain or descriptions(text)


def _flow(text: str) -> str:
    """Return `text` on one line; SEPARATOR follows paragraphs, items and headings that end without a stop."""
    text = _PARAGRAPH_END.sub(f" {_END_MARK} ", text.strip())
    text = " ".join(_AFTER_WIDE_STOP.sub("", _WRAPPED.sub("", text)).split())
    return _AFTER_STOP.sub(" ", text).replace(_END_MARK, SEPARATOR)
