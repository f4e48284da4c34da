"""Lines about what stands behind the text of office files: targets of links, and embedded files."""

from collections.abc import Collection
from typing import Final

from ingest.parsers.outline_writer import one_line

#: types of the relations to embedded files end with these
EMBEDDED: Final = ("/package", "/oleObject")
_MAX_NAMES: Final = 5


def link_line(text: str, target: str) -> str:
    """Return a link as a line; '' for one inside of the document and where the text has its target."""
    text, target = one_line(text), one_line(target)
    if not target or target.startswith("#") or target.rstrip("/").removeprefix("mailto:") in text:
        return ""
    return f"Link: {text} ({target})" if text else f"Link: {target}"


def embedded_line(part: str) -> str:
    """Return the name of an embedded file, which isn't read, as a line."""
    return f"Embedded file: {part.rpartition('/')[2]}"


def embedded_warnings(lines: Collection[str]) -> tuple[str, ...]:
    """Return a warning that names embedded files, none without any."""
    names = [line.partition(": ")[2] for line in lines]
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    listed = f"{', '.join(names[:_MAX_NAMES])}{more}"
    return (f"embedded files that were not read: {listed}",) if names else ()
