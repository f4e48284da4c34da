"""Text nodes of an OOXML file, to compare what was read with: found by pattern, without any reader."""

import html
import io
import re
import zipfile
from collections.abc import Iterator
from typing import Final

from ingest.parsers.office.package import DAMAGE

#: parts with the text that people see
PARTS: Final = re.compile(
    r"word/(?:document|footnotes|endnotes)\d*\.xml|ppt/slides/[^/]+\.xml"
    r"|xl/(?:sharedStrings|worksheets/[^/]+)\.xml",
    re.IGNORECASE,
)
#: text, or where a word ends
NODE: Final = re.compile(
    r"<(?:\w+:)?t(?:\s[^>]*)?>([^<]*)|</(?:\w+:)?(?:p|si|is|rPh)>|<(?:\w+:)?(?:br|tab|cr)[\s/>]"
)
#: sheets with text outside of the shared strings
INLINE: Final = b"inlineStr"
MAX_BYTES: Final = 16 * 1024**2


def visible_text(content: bytes) -> str:
    """Return the text of the document, slides or sheets, of the first MAX_BYTES; '' if damaged."""
    try:
        return " ".join(_texts(zipfile.ZipFile(io.BytesIO(content))))
    except DAMAGE:
        return ""


def _texts(archive: zipfile.ZipFile) -> Iterator[str]:
    left = MAX_BYTES
    for info in archive.infolist():
        if left <= 0 or not PARTS.fullmatch(info.filename.replace("\\", "/")):
            continue
        with archive.open(info) as part:
            xml = part.read(left)
        left -= len(xml)
        if "worksheets" not in info.filename or INLINE in xml:
            nodes = NODE.finditer(xml.decode(errors="replace"))
            yield html.unescape("".join(node[1] or " " for node in nodes))
