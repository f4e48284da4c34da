"""Removal of the markup of Markdown and MDX but for tags, which their parser has removed.

Regular expressions over a whole text: parsing alone would take three times as long.

Stand-ins are ASCII, as expressions are slower on other texts.
"""

import re
from collections.abc import Sequence
from html import unescape

from search.markup.tables import join_cells
from search.retrieval.text.plain_text import LINKS_MARK, SEPARATOR

# A number between control characters; the first one is another for lines of code.
_PIECE, _LINES, _VERBATIM_END = "\x04", "\x06", "\x05"
_STAND_IN = re.compile(f"{_PIECE}([0-9]+){_VERBATIM_END}|{_LINES}([0-9]+){_VERBATIM_END}(?: {SEPARATOR})? ?")


class Verbatim:
    """The pieces of one text."""

    def __init__(self, text: str) -> None:
        #: The text without characters of stand-ins.
        self.text = text.replace(_PIECE, "").replace(_LINES, "")
        self._pieces: list[str] = []

    def keep(self, piece: str) -> str:
        """Return a stand-in for a piece of a line."""
        self._pieces.append(" ".join(piece.split()))
        return f"{_PIECE}{len(self._pieces) - 1}{_VERBATIM_END}"

    def keep_lines(self, code: str) -> str:
        """Return a stand-in for lines of code, as a paragraph."""
        code = code.rstrip().strip("\n")
        self._pieces.append(f"\n{code}\n")
        return f"\n\n{_LINES}{len(self._pieces) - 1}{_VERBATIM_END}\n\n"

    def restore(self, text: str) -> str:
        """Return `text` with the pieces in place; code is on lines of its own."""
        if not self._pieces:
            return text
        text = text.replace(f" {SEPARATOR} {_LINES}", _LINES).replace(f" {_LINES}", _LINES)
        return _STAND_IN.sub(self._piece, text)

    def _piece(self, found: re.Match[str]) -> str:
        return self._pieces[int(found[1] or found[2])]


_END = r"[ \t]*(?=\n|\Z)"
_ITEM = r"(?:[-*+•]|\d+[.)])[ \t]+"
_FENCE = re.compile(rf"\n[ \t>]*+(?:{_ITEM})?(?:```|~~~)[`~]*+([^`\n]*)(?=\n|\Z)")
_FENCED = re.compile(
    rf"\n([ \t>]*+)(?:{_ITEM})?(`{{3,}}(?=[^`\n]*(?:\n|\Z))|~{{3,}})([^\n]*)"
    rf"((?:\n(?![ \t>]*+\2[`~]*{_END})[^\n]*)*)(?:\n[^\n]*)?"
)
# Directives of MyST whose content is prose.
_PROSE_FENCE = re.compile(
    r"\{(?:note|tip|warning|important|caution|danger|attention|hint|error|seealso|admonition|dropdown)\}"
)
_INDENTED = re.compile(r"\n[ \t]*+((?:\n(?: {4}|\t)[^\n]*(?:\n[ \t]*+(?=\n(?: {4}|\t)))*)+)")
_LIST = re.compile(rf"\n[ \t]*+{_ITEM}")
#: The beginning of an indented text that is prose rather than code.
PROSE_START = re.compile(r"\s*(?:[-*+•][ \t]|\d+[.)][ \t]|[A-Z][a-z ,'’]|[<>*:|!\[]|[^\x00-\x7f])")
# Code spans, escaped characters, addresses. Python before 3.11.5 misreads possessive groups with lookaheads.
_VERBATIM = re.compile(
    r"`(?<!``)(`*+)((?:[^`\n]++|\n(?!\s*\n)|(?!`\1(?!`))`++)+)`\1(?!`)"
    r"|\\([!-/:-@[-`{-~\n])"
    r"|<([A-Za-z][\w.+-]*:[^<>\s]*|[\w.+-]+@[\w.-]+)>"
)

# Comments and blanks of MDX, tags of templates, attributes of Markdown, roles of MyST before a stand-in.
_BRACES = re.compile(
    r"""\{/\*(?:[^{]|\{(?!/\*))*?\*/\}|\{%[^{}]*%\}|\{\{[<%][^{}]*[>%]\}\}|\{:?[ ]*[.#][^{}\n]*\}"""
    r"""|\{(?:' *'|" *")\}|\{[\w:+-]+\}(?=\x04)"""
)
_QUOTE = re.compile(r"\n[ \t]*+>[ \t>]*")

_LABEL = r"((?:[^\[\]\n]++|\n(?!\s*\n)|\[[^\[\]]*\])*+)"
# A chunk may end within a link, whose target is on the next line.
_TARGET = r"(?:\(\s*(?:[^()\n]++|\([^()\n]*\))*+\)|\(\s*\Z|\[[^\[\]\n]*\])"
_IMAGE = re.compile(rf"!\[(?<!\w!\[){_LABEL}\](?:{_TARGET})?")
_DESCRIBED = re.compile(rf"!\[{_LABEL}\]|:alt:[ \t]*([^\n]*)")
_EMPTY_LINK = re.compile(rf"\[\s*\]{_TARGET}")
_LINK = re.compile(rf"\[{_LABEL}\]{_TARGET}")
_BETWEEN_LINKS = r"[ \t,.;|·/•&*_-]*+"
_ONLY_LINKS = re.compile(
    rf"(\n(?:[ \t]*+{_ITEM}|(?<=\n\n)[ \t]*))"
    rf"([*_]*(?:\[{_LABEL}\]{_TARGET}{_BETWEEN_LINKS}(?:\n[ \t]*+(?=\[))?)+)"
    r"(?=\n[ \t]*+(?:\n|[-*+•\d])|\s*\Z)"
)
_DEFINITION = re.compile(r"\n[ \t]*+\[(?!\^)([^\]\n]+)\]:")
_SHORT_LINK = re.compile(r"\[([^\[\]\n]+)\](?!:)")
_OTHER_LINK = re.compile(r"\[(?:\^[^\]\s]+\](?!:)|\[(?:[^\[\]|\n]*\|)?([^\[\]\n]*)\]\])")

_LINE = re.compile(
    r"\n[ \t]*+(?=[-=*_:+~|\#!?\[(•ei])(?:"
    # Underlines, rules, ends of containers.
    rf"(?:[-=*_:+~|][-=*_:+~| \t]+|\#{{1,6}}){_END}"
    rf"|\#{{1,6}}[ \t]+([^\n]*?)(?:[ \t]+\#+)?{_END}"
    # Items with their boxes.
    r"|(?:[-*+•][ \t]+)+(?:\[[ xX]\][ \t]+)?"
    # Containers, admonitions and tabs with their titles.
    r'|:{3,}[ \t]*[\w-]*(?:[^\n]*="[^\n]*|[ \t]*\[?([^\]\n{:]*)[^\n]*)'
    r'|(?:!!!|\?\?\?\+?|===[!+]?)[ \t]+[\w-]*[ \t]*"?([^"\n]*)"?'
    # Alerts, a place for the contents, targets, definitions of links, labels of footnotes.
    rf"|\[(?:!|\[?_?TOC)[^\]\n]*\]+|\([\w.-]+\)={_END}"
    rf"|\[(?!\^)[^\]\n]+\]:[ \t]*(?:<[^>\n]*>|\S+)(?:[ \t]+[\"'(][^\n]*)?{_END}"
    r"|\[\^[^\]\n]+\]:"
    # Statements of MDX.
    rf"|(?:import[ \t]+(?:[\w*{{][^;'\"]*?from[ \t]*)?['\"][^'\"\n]+['\"];?"
    rf"|export[ \t]+(?:default|const|let|var|function|async|class)\b[^\n]*(?:\n[^\n]+)*){_END}"
    r")"
)

_STRONG = re.compile(
    r"\*\*(?<![\d*]\*\*)(\*?)(?=[^\s*])((?:(?!\*\*|\n\s*\n).)+)(?<=\S)\*\*\1(?!\d)", re.DOTALL
)
_EMPHASIS = re.compile(
    r"\*(?<![A-Za-z0-9*/]\*)(?=[^\s*])([^*\n]*(?:\n(?!\s*\n)[^*\n]*)*)(?<=\S)\*(?![A-Za-z0-9*])"
)
_UNDERSCORES = re.compile(
    r"_(?<![\w/]_)(_{0,2})(?=[^\s_])((?:[^_\n]++|(?<=[^\W_])_+(?=\w)|\n(?!\s*\n))+)(?<=\S)_\1(?!\w)"
)
_STRUCK = re.compile(r"~~(?=[^\s~])([^~\n]+)~~")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[A-Za-z]\w{1,31});")


def strip_markdown(verbatim: Verbatim, *, is_code: bool, has_indented_code: bool) -> str:
    """Return a text without markup, with stand-ins for what means itself.

    `is_code`: most of the text is code, all of it if there is no fence. `has_indented_code`: indented lines
    are code, as in Markdown but not in MDX.
    """
    text = _keep_lines(f"\n\n{verbatim.text}", verbatim, is_code=is_code)
    if has_indented_code:
        text = _INDENTED.sub(lambda found: _keep_indented(found, verbatim), text)
    text = _VERBATIM.sub(lambda found: _keep_span(found, verbatim), text)
    text = _strip_links(_QUOTE.sub("\n", _BRACES.sub("", text)))
    text = strip_emphasis(_LINE.sub(r"\n\n\1\2\3\n", join_cells(text)))
    text = _STRUCK.sub(r"\1", _UNDERSCORES.sub(r"\2", text))
    return _ENTITY.sub(lambda found: unescape(found[0]), text)


def strip_emphasis(text: str) -> str:
    """Return `text` without the asterisks around emphasized words."""
    return _EMPHASIS.sub(r"\1", _STRONG.sub(r"\2", text))


def descriptions(text: str) -> str:
    """Return the descriptions of the images of `text`."""
    found = (one[1] or one[2] for one in _DESCRIBED.finditer(text))
    return f" {SEPARATOR} ".join(filter(None, found))


def _keep_lines(text: str, verbatim: Verbatim, *, is_code: bool) -> str:
    if "```" in text or "~~~" in text:
        fences = list(_FENCE.finditer(text))
        if fences and _is_end(fences):
            text = verbatim.keep_lines(text[: fences[0].start()]) + text[fences[0].end() :]
        text = _FENCED.sub(lambda found: _keep_fenced(found, verbatim), text)
    elif is_code:
        return verbatim.keep_lines(text)
    return text


def _is_end(fences: Sequence[re.Match[str]]) -> bool:
    """Return whether the first fence of a text ends code that begins in the chunk before."""
    first = fences[0]
    is_opening = first[1].strip() or not first.string[: first.start()].strip()
    return not is_opening and (len(fences) % 2 == 1 or bool(fences[1][1].strip()))


def _keep_fenced(found: re.Match[str], verbatim: Verbatim) -> str:
    indent, _, info, code = found.groups()
    if _PROSE_FENCE.match(info):
        return f"\n\n{info.partition('}')[2]}\n\n{code}\n\n"
    return verbatim.keep_lines(code.replace(f"\n{indent}", "\n"))


def _keep_indented(found: re.Match[str], verbatim: Verbatim) -> str:
    """Keep an indented block, unless it belongs to an item of a list."""
    if _LIST.search(found.string, 0, found.end()) or (not found.start() and PROSE_START.match(found[1])):
        return found[0]
    return verbatim.keep_lines(found[1].replace("\n\t", "\n").replace("\n    ", "\n"))


def _keep_span(found: re.Match[str], verbatim: Verbatim) -> str:
    _, code, escaped, address = found.groups()
    if escaped == "\n":
        return "\n\n"
    return verbatim.keep(code.replace("\\|", "|") if code else escaped or address)


def _strip_links(text: str) -> str:
    text = _EMPTY_LINK.sub("", _IMAGE.sub("", text))
    text = _LINK.sub(r"\1", _ONLY_LINKS.sub(rf"\1{LINKS_MARK}\2{LINKS_MARK}", text))
    labels = {label.lower() for label in _DEFINITION.findall(text)}
    text = _SHORT_LINK.sub(lambda found: found[1] if found[1].lower() in labels else found[0], text)
    return _OTHER_LINK.sub(r"\1", text)
