"""The connector of wikis of MediaWiki (Action API): each page by its revision, rendered.

Written from "API:Query", "API:Continue", "API:Allpages", "API:Info", "API:Revisions", "API:RecentChanges",
"API:Logevents", "API:Parsing wikitext", "API:Login" and "API:Errors and warnings" of mediawiki.org.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from html import escape
from typing import Any, Final

from ingest.connectors.records.cursor import ChangeCursor
from ingest.connectors.records.mediawiki_api import WikiApi
from ingest.connectors.records.protocol import DeletedRecord, DocumentRecord, Record
from ingest.connectors.records.settings import ReaderSettings, check_server
from ingest.errors import AddressNotAllowed

_PAGE: Final = {"prop": "info|revisions", "inprop": "url", "rvprop": "ids|timestamp|user"}
_RENDERED: Final = {"prop": "text", "disableeditsection": "1", "disabletoc": "1", "disablelimitreport": "1"}
# Logs of what happens to pages beside edits.
_LOGS: Final = ("delete", "move", "import", "merge")
# Changes appear in the lists somewhat after their time.
_OVERLAP: Final = timedelta(minutes=10)
# Pages that one query may name.
_NAMED: Final = 50
_ARTICLES: Final = "0"


def check_mediawiki(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config with its `url` in normal form. Raises AddressNotAllowed."""
    checked = check_server(config)
    if not checked["url"].endswith("/api.php"):
        raise AddressNotAllowed("Give the address of the wiki's api.php; its page Special:Version shows it.")
    if not all(each.isascii() and each.isdecimal() for each in config.get("namespaces", ())):
        raise AddressNotAllowed("Give namespaces as numbers: 0 for articles, 4 for the project, 12 for help.")
    return checked


class MediawikiReader:
    """A reader of the pages of some namespaces, without redirects."""

    def __init__(self, settings: ReaderSettings) -> None:
        self._api = WikiApi(settings)
        self._server = self._api.server
        self._relist_after_s = settings.limits.relist_after_s
        self._namespaces = [int(each) for each in settings.config.get("namespaces") or (_ARTICLES,)]

    def records(self, cursor: str) -> Iterator[Record]:
        """Yield the pages that have changed, once a day all. Raises ListingFailed, SourceAway."""
        self._api.log_in()
        start = ChangeCursor.parse(cursor, self._relist_after_s)
        now, oldest = self._read_clock()
        if not start.is_first and not (oldest and oldest <= start.since):
            start = ChangeCursor.first()  # changes since then are forgotten
        pages = self._all_pages() if start.is_first else self._changed_pages(start.since)
        for page in pages:
            with self._server.expected_form():
                record = self._record(page)
            yield record
        yield from start.end(f"{now - _OVERLAP:%Y-%m-%dT%H:%M:%SZ}")

    def fetch(self, path: str, locator: str, limit_bytes: int) -> bytes:
        """Return a page as HTML. Raises FileNotFoundError, OSError, SourceAway."""
        # Quotes and line ends are escaped.
        page = self._api.parse_page(locator, _RENDERED, 2 * limit_bytes)
        with self._server.expected_form(OSError):
            title, text = escape(page["title"]), str(page["text"])
        return f"<!doctype html><title>{title}</title><h1>{title}</h1>\n{text}\n".encode(errors="replace")

    def close(self) -> None:
        """Close the connections."""
        self._server.close()

    def _read_clock(self) -> tuple[datetime, str]:
        """Return the server's time, and the time of the oldest change that it still lists, or ""."""
        found = self._api.query(
            {"list": "recentchanges", "rcdir": "newer", "rclimit": "1", "curtimestamp": "1"}
        )
        with self._server.expected_form():
            changes = found["query"]["recentchanges"]
            oldest = changes[0]["timestamp"] if changes else ""
            return datetime.fromisoformat(found["curtimestamp"]), oldest

    def _all_pages(self) -> Iterator[Mapping[str, Any]]:
        for namespace in self._namespaces:
            every = {"generator": "allpages", "gaplimit": "max", "gapfilterredir": "nonredirects"}
            yield from self._api.pages({**every, **_PAGE, "gapnamespace": str(namespace)})

    def _changed_pages(self, since: str) -> Iterator[Mapping[str, Any]]:
        """Yield the present state of all pages that were edited, moved or deleted since a time."""
        changes = {"list": "recentchanges", "rcstart": since, "rcdir": "newer", "rcprop": "ids|timestamp"}
        # Entries that are hidden name no page.
        page_ids = {each.get("pageid", 0) for each in self._api.entries(changes | {"rclimit": "max"})}
        for log in _LOGS:
            events = {"list": "logevents", "letype": log, "lestart": since, "ledir": "newer", "leprop": "ids"}
            for event in self._api.entries(events | {"lelimit": "max"}):
                page_ids |= {event.get("pageid", 0), event.get("logpage", 0)}
        named = sorted(page_ids - {0})
        for start in range(0, len(named), _NAMED):
            some = "|".join(map(str, named[start : start + _NAMED]))
            yield from self._api.pages({"pageids": some, **_PAGE})

    def _record(self, page: Mapping[str, Any]) -> Record:
        path = f"pages/{page['pageid']}.html"
        if page.get("missing") or page.get("redirect") or page["ns"] not in self._namespaces:
            return DeletedRecord(path=path)
        revision: Mapping[str, Any] = next(iter(page.get("revisions", ())), {})
        at = revision.get("timestamp")
        return DocumentRecord(
            path=path,
            version=f"{page['lastrevid']} {page['title']}",
            locator=str(page["pageid"]),
            title=page["title"],
            author=revision.get("user", ""),  # may be hidden
            dated=datetime.fromisoformat(at) if at else None,
            metadata={"url": page["fullurl"], **({"namespace": page["ns"]} if page["ns"] else {})},
        )
