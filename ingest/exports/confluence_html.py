"""Confluence's HTML export of a space: pages without the space's name in titles, with author and date.

Atlassian's help page "Export content to Word, PDF, HTML and XML" describes it; pages are named by title
and id.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from html import unescape
from typing import Final

from ingest.exports.types import PlainExport, link_to, meta_elements
from ingest.parsers.stated_metadata import iso_date

_PAGE: Final = re.compile(r"(?:.*[_/])?(\d{4,})\.html")
_FURNITURE: Final = ("images/", "styles/", "js/", "attachments/thumbnails/")
_SPACE: Final = re.compile(r'<li class="first">\s*<span>\s*<a href="[^"]*">([^<]*)</a>')
#: the title in the head, and the heading of the page; both begin with the name of the space
_TITLES: Final = re.compile(r'(<title>|<span id="title-text">)([^<]*)(</title>|</span>)')
_BYLINE: Final = re.compile(r'<div class="page-metadata">((?:(?!</div>).){0,4000})</div>', re.DOTALL)
_PERSON: Final = re.compile(r"""<span class=["']author["']>([^<]*)</span>(,?)""")
_ADDRESS: Final = re.compile(r'href="https?://[^"/]+/[^"]{0,300}?(?:/pages/|pageId=)(\d{4,}+)[^"]*"')
_MARKUP: Final = re.compile(r"<[^<>]*>")
#: characters at the beginning of a page that hold its head, breadcrumbs and byline
_HEAD_CHARS: Final = 50_000


class ConfluenceHtml(PlainExport):
    """Pages named by their ids beside the space's index and its style sheet."""

    converted = (".html",)

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__(paths)
        self._by_id = {found[1]: path for path in paths if (found := _PAGE.fullmatch(path))}

    @staticmethod
    def find_roots(paths: Sequence[str]) -> Iterator[str]:
        """Yield the folders with an index, the export's style sheet and pages."""
        known = frozenset(paths)
        with_pages = {posixpath.dirname(path) for path in paths if _PAGE.fullmatch(path)}
        for path in paths:
            if f"/{path}".endswith("/styles/site.css"):
                root = path.removesuffix("styles/site.css")
                if f"{root}index.html" in known and root.rstrip("/") in with_pages:
                    yield root

    def document_path(self, path: str) -> str | None:
        """Return the path itself; None for the index and the export's icons and style sheets."""
        return None if path == "index.html" or path.startswith(_FURNITURE) else path

    def convert(self, path: str, content: bytes) -> bytes:
        """Return a page with its own title, with author and date, and with links to other pages."""
        text = content.decode()
        head, body = text[:_HEAD_CHARS], text[_HEAD_CHARS:]
        if 'id="title-text"' not in head:
            return content
        space = _SPACE.search(head)
        prefix = f"{' '.join(space[1].split())} : " if space else ""
        head = _TITLES.sub(lambda found: _without_space(found, prefix), head)
        byline = _BYLINE.search(head)
        if byline is not None:
            head = head[: byline.start()] + "\n" * byline[0].count("\n") + head[byline.end() :]
            head = head.replace("</title>", f"</title>{meta_elements(_stated(byline[1]))}", 1)
        head = head.replace('<div id="content"', '<div id="content" role="main"', 1)
        return _ADDRESS.sub(lambda found: self._address(path, found), head + body).encode()

    def _address(self, path: str, found: re.Match[str]) -> str:
        target = self._by_id.get(found[1])
        return found[0] if target is None else f'href="{link_to(path, target)}"'


def _without_space(found: re.Match[str], prefix: str) -> str:
    start, title, end = found.groups()
    named = " ".join(title.split())
    own = named.removeprefix(prefix) if prefix else named.partition(" : ")[2] or named
    return f"{start}{own}{title.count(chr(10)) * chr(10)}{end}"


def _stated(byline: str) -> dict[str, str]:
    """Return the author and the date of a line such as `Created by Ada, last modified on Jan 05, 2024`."""
    author = _PERSON.search(byline)
    words = unescape(_MARKUP.sub(" ", byline.rpartition("</span>")[2])).replace(",", ", ").split()
    dates = (iso_date(" ".join(words[start:])) for start in range(max(0, len(words) - 4), len(words)))
    # A comma behind the author begins the last change.
    name = "modified" if author and author[2] else "created"
    return {
        "author": " ".join(unescape(author[1]).split()) if author else "",
        name: next(filter(None, dates), ""),
    }
