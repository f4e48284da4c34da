"""The charset that a text file states for itself: in HTML, XML, CSS, gettext catalogues, TeX and code."""

import re
from collections.abc import Iterator
from typing import Final

from search.documents.charset_labels import charset_for_label

#: bytes at the start of a file that are searched; the HTML standard's 1,024 are too few for real pages
HEAD_BYTES: Final = 16 * 1024
LABEL = rb"[\"']?([\w.:+-]{2,40})"
COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
MARKUP_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*<[!?a-z]", re.IGNORECASE)
#: declarations in markup, in order of their precedence
XML = re.compile(rb"\s*<\?xml\s[^>]{0,200}?\bencoding\s*=\s*" + LABEL)
META = re.compile(rb"<meta\b[^>]{0,400}?\bcharset\s*=\s*" + LABEL, re.IGNORECASE)
CSS = re.compile(rb"@charset \"" + LABEL)
GETTEXT = re.compile(
    rb"^msgid \"\"\r?\n(?:.*\n){0,60}?\"Content-Type: [\w/]+; charset=" + LABEL, re.MULTILINE
)
TEX = re.compile(rb"\\usepackage\[([\w-]{2,20})\]\{inputenc\}")
#: PEP 263, Emacs and Vim, in the first two lines
CODING = re.compile(
    rb"(?:[^\n]*\n)?(?:[ \t\f]*[#;%/*.-]{1,4}|[^\n]*-\*-)[^\n]*?coding[:=][ \t]*([\w.-]{2,40})", re.IGNORECASE
)
LINE_END_SUFFIX = re.compile(r"-(?:unix|dos|mac)$")
#: names in TeX that are no labels elsewhere
TEX_NAMES: Final = {"ansinew": "cp1252", "applemac": "macintosh", "latin10": "iso-8859-16"}


def declared_charset(content: bytes) -> str | None:
    """Return the codec that the file states, None without a known one.

    A statement was read as ASCII, so charsets that encode ASCII in another way can't be meant.
    """
    for label in _labels(content[:HEAD_BYTES]):
        codec = charset_for_label(label)
        if codec is not None and label.encode().decode(codec, errors="replace") == label:
            return codec
    return None


def _labels(head: bytes) -> Iterator[str]:
    markup = COMMENT.sub(b"", head) if MARKUP_START.match(head) else b""
    for found in (
        *(XML.match(head), META.search(markup), CSS.match(head)),
        *(GETTEXT.search(head), CODING.match(head), TEX.search(head)),
    ):
        if found is not None:
            label = LINE_END_SUFFIX.sub("", found[1].decode("latin-1"))
            yield TEX_NAMES.get(label, label)
