"""Removal of the tags of HTML and JSX."""

import re
from html import unescape

from search.markup.verbatim import Verbatim

_BLOCK_NAMES = """
address article aside blockquote body br caption center dd details dialog div dl dt fieldset figcaption figure
footer form h1 h2 h3 h4 h5 h6 head header hr html iframe li main nav ol p pre section summary table tbody td
tfoot th thead title tr ul video
"""
_INLINE_NAMES = """
a abbr audio b big button cite code col colgroup del dfn em font i img input ins kbd label link mark meta
picture q s samp select small source span strike strong sub sup time tt u var wbr
"""
_BLOCKS, _INLINE = frozenset(_BLOCK_NAMES.split()), frozenset(_INLINE_NAMES.split())
_UNREAD = re.compile(r"<!--.*?-->|<(script|style|svg)\b.*?</\1\s*>|<!--|<!doctype[^>]*>", re.DOTALL | re.I)
# Not possessive: Python before 3.11.5 misreads possessive groups with lookaheads.
_PREFORMATTED = re.compile(r"<pre\b[^<>]*>((?:[^<]|<(?!/?pre\b))*)</pre\s*>", re.I)
_ANCHOR = re.compile(r"<a\b[^<>]*>((?:[^<]|<(?!/?a\b))*)</a\s*>", re.I)
_ATTRIBUTES = r"""(?:[^<>"'{}]++|"[^"]*"|'[^']*'|\{(?:[^{}]++|\{[^{}]*\})*+\})*+"""
_TAG = re.compile(rf"<(/?)([A-Za-z][\w.:-]*)((?:[\s/]{_ATTRIBUTES})?)>")


def strip_tags(text: str, verbatim: Verbatim) -> str:
    """Return `text` without tags, comments and scripts; `<a>` becomes a link of Markdown, `<pre>` code."""
    text = _UNREAD.sub("", text)
    if "<pre" in text:
        text = _PREFORMATTED.sub(lambda found: _keep_preformatted(found, verbatim), text)
    return _TAG.sub(_replace_tag, _ANCHOR.sub(r"[\1]()", text))


def _keep_preformatted(found: re.Match[str], verbatim: Verbatim) -> str:
    return verbatim.keep_lines(verbatim.restore(unescape(_TAG.sub("", found[1]))))


def _replace_tag(found: re.Match[str]) -> str:
    """Return what stands for a tag: the end of a paragraph, nothing, or what looks like a tag only."""
    closing, name, attributes = found.groups()
    text, at = found.string, found.start()
    if name.lower() in _BLOCKS:
        is_in_row = text.startswith("|", text.rfind("\n", 0, at) + 1)
        return " " if is_in_row else "\n\n"
    if name.lower() in _INLINE:
        return ""
    is_element = closing or "=" in attributes or attributes.endswith("/") or f"</{name}>" in text
    return " " if is_element or (name[0].isupper() and not text[at - 1].isalnum()) else found[0]
