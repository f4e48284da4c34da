"""Notion's exports in Markdown and HTML: properties of pages as fields, links to Notion as links to files.

Notion's help page "Export your content" describes them; files are named by their page and its id.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from html import unescape
from typing import Any, Final

from ingest.exports.types import PlainExport, link_to, meta_elements, trailing_fields

_NAMED: Final = re.compile(r".+ ([0-9a-f]{32})(_all)?\.(md|html|csv)", re.IGNORECASE)
_PROPERTY: Final = re.compile(r"([^\s:#>*\-][^:\n]{0,60}): (\S.*)")
_ADDRESS: Final = re.compile(
    r"https://(?:www\.)?notion\.so/[^\s()<>\"']{0,300}?([0-9a-f]{32})(?![0-9a-f])[^\s()<>\"']*"
)
_ROW: Final = re.compile(r'<tr class="property-row property-row-(\w+)"')
_MAX_TABLE_CHARS: Final = 200_000
_VALUE: Final = re.compile(r'<span class="selected-value[^"]*">(.{0,1000}?)</span>', re.DOTALL)
_MARKUP: Final = re.compile(r"<[^<>]*>")
#: names of fields by lower-case names of properties, and by their types
_FIELDS: Final = {
    **dict.fromkeys(("tags", "tag", "labels", "label", "keywords", "topics", "categories"), "tags"),
    **dict.fromkeys(("created", "created time", "created_time", "date created"), "created"),
    **dict.fromkeys(("last edited", "last edited time", "last_edited_time", "edited"), "modified"),
    **dict.fromkeys(("created by", "created_by"), "author"),
}


class NotionExport(PlainExport):
    """Files with the ids of their pages in their names."""

    converted = (".md", ".html")

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__(paths)
        self._by_id = {found[1].lower(): path for path in paths if (found := _named(path)) and not found[2]}

    @staticmethod
    def find_roots(paths: Sequence[str]) -> Iterator[str]:
        """Yield the folder that all files so named are in."""
        folders = [posixpath.dirname(path) for path in paths if _named(path)]
        if folders:
            common = posixpath.commonpath(folders)
            yield f"{common}/" if common else ""

    def document_path(self, path: str) -> str | None:
        """Return the path itself; None for the list of pages, and a view of a table that is there whole."""
        found = _named(path)
        if found is None:
            return None if path == "index.html" else path
        is_view = found[3].lower() == "csv" and not found[2]
        return None if is_view and f"{path[:-4]}_all.csv" in self.paths else path

    def convert(self, path: str, content: bytes) -> bytes:
        """Return a page with its properties as fields, and with links to the pages of the export."""
        if _named(path) is None:
            return content
        text = _ADDRESS.sub(lambda found: self._address(path, found), content.decode())
        if path.lower().endswith(".html"):
            head, tag, rest = text.partition("<head>")
            return f"{head}{tag}{meta_elements(_html_properties(rest)) if tag else ''}{rest}".encode()
        return (text + trailing_fields(_properties(text))).encode()

    def _address(self, path: str, found: re.Match[str]) -> str:
        target = self._by_id.get(found[1])
        return found[0] if target is None else link_to(path, target)


def _named(path: str) -> re.Match[str] | None:
    return _NAMED.fullmatch(posixpath.basename(path))


def _properties(text: str) -> dict[str, Any]:
    """Return the properties of a page of a database: lines `Name: value` below the title."""
    title, _, rest = text.partition("\n\n")
    if not title.startswith("# ") or "\n" in title:
        return {}
    lines = rest.partition("\n\n")[0].strip().split("\n")
    found = [_PROPERTY.fullmatch(line) for line in lines]
    if not all(found):
        return {}
    return dict(_field(each[1], each[2].split(", ")) for each in found if each)


def _html_properties(text: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    table = text.partition('<table class="properties">')[2][:_MAX_TABLE_CHARS]
    _, *rows = _ROW.split(table.partition("</table>")[0])
    for kind, row in zip(rows[::2], rows[1::2], strict=True):
        name, _, rest = row.partition("<th>")[2].partition("</th><td>")
        value = rest.partition("</td></tr>")[0]
        values = [_plain(each) for each in _VALUE.findall(value)] or [_plain(value)]
        field, content = _field(kind if kind in _FIELDS else _plain(name), values)
        if field in ("tags", "created", "modified", "author"):
            fields.setdefault(field, content)
    return fields


def _field(name: str, values: Sequence[str]) -> tuple[str, Any]:
    field = _FIELDS.get(name.strip().lower(), name.strip())
    return field, list(values) if field == "tags" else ", ".join(values).removeprefix("@")


def _plain(markup: str) -> str:
    return " ".join(unescape(_MARKUP.sub(" ", markup)).split())
