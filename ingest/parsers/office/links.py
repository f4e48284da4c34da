"""Lines about what stands behind the text of office files: targets of links, and embedded files."""

import re
from collections.abc import Iterator
from typing import Final

from ingest.parsers.outline_writer import one_line

#: types of the relations to embedded files end with these
EMBEDDED: Final = ("/package", "/oleObject")
#: a field that is a link, but not to a place (`\l`) of the document
_FIELD: Final = re.compile(r'\bHYPERLINK\s+(?:\\[a-km-z]\s+)*(?:"([^"]+)"|([^\s"\\]\S*))')


def link_line(text: str, target: str) -> str:
    """Return a link as a line; '' for one inside of the document and where the text has its target."""
    text, target = one_line(text), one_line(target)
    if not target or target.startswith("#") or target.rstrip("/").removeprefix("mailto:") in text:
        return ""
    return f"Link: {text} ({target})" if text else f"Link: {target}"


def field_links(instructions: str, shown: str) -> Iterator[str]:
    """Yield a line for each HYPERLINK field whose target isn't `shown`."""
    for found in _FIELD.finditer(instructions):
        target = found[1] or found[2]
        if target not in shown:
            yield link_line("", target)


def embedded_line(part: str) -> str:
    """Return the name of an embedded file, which isn't read, as a line."""
    return f"Embedded file: {part.rpartition('/')[2]}"
