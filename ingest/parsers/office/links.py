"""Lines about what stands behind the text of office files: targets of links, and embedded files."""

import re
from collections.abc import Collection, Iterator
from typing import Final

from ingest.parsers.outline_writer import one_line

#: types of the relations to embedded files end with these
EMBEDDED: Final = ("/package", "/oleObject")
#: a field that is a link, but not to a place (`\l`) of the document
_FIELD: Final = re.compile(r'\bHYPERLINK\s+(?:\\[a-km-z]\s+)*(?:"([^"]+)"|([^\s"\\]\S*))')
_MAX_NAMES: Final = 5


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


def embedded_warnings(lines: Collection[str]) -> tuple[str, ...]:
    """Return a warning that names embedded files, none without any."""
    names = [line.partition(": ")[2] for line in lines]
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    listed = f"{', '.join(names[:_MAX_NAMES])}{more}"
    return (f"embedded files that were not read: {listed}",) if names else ()
