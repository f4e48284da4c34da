"""The connector of wikis of MediaWiki (Action API): each page by its revision, rendered.

Written from "API:Query", "API:Continue", "API:Allpages", "API:Info", "API:Revisions", "API:RecentChanges",
"API:Logevents", "API:Parsing wikitext", "API:Login" and "API:Errors and warnings" of mediawiki.org.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from html import escape
from typing import Any, Final

from ingest.connectors.errors import WRONG_CREDENTIALS, ListingFailed, SourceAway
from ingest.connectors.records.issues import ChangeCursor, JsonServer
from ingest.connectors.records.requests import ReaderSettings, check_server
from ingest.connectors.records.wire import DeletedRecord, DocumentRecord, Record
from ingest.errors import AddressNotAllowed

_FORMAT: Final = {"format": "json", "formatversion": "2"}
_REFUSALS: Final = frozenset({"readapidenied", "permissiondenied"})
_AWAY: Final = frozenset({"ratelimited", "readonly", "maxlag", "assertuserfailed"})
_MISSING: Final = frozenset({"nosuchpageid", "missingtitle"})


class WikiApi:
    """The API of one wiki."""

    def __init__(self, settings: ReaderSettings) -> None:
        self.server = JsonServer(settings.server, settings, self._headers)
        self._credentials = settings.credentials
        self._cookies: dict[str, str] = {}

    def parse_page(self, page_id: str, options: Mapping[str, str], limit_bytes: int) -> Mapping[str, Any]:
        """Return a rendered page. Raises FileNotFoundError, OSError, SourceAway."""
        try:
            self.log_in()
        except ListingFailed as error:
            raise SourceAway(str(error)) from error
        query = {"action": "parse", "pageid": page_id, **options, **self._common}
        found, _ = self.server.fetch("", query, limit_bytes=limit_bytes)
        with self.server.expected_form(OSError):
            if failure := found.get("error"):
                raise self._fetch_error(page_id, failure)
            return dict(found["parse"])

    def query(self, query: Mapping[str, str]) -> Mapping[str, Any]:
        """Return the answer to a query. Raises ListingFailed, SourceAway."""
        found, _ = self.server.get("", {"action": "query", **query, **self._common})
        with self.server.expected_form():
            if error := found.get("error"):
                raise self._error(error)
            return dict(found)

    def pages(self, query: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
        """Yield the pages of a query; the wiki may return what it knows of one in parts.

        Raises ListingFailed, SourceAway.
        """
        batch: dict[int, dict[str, Any]] = {}
        is_whole = False
        for found in self._parts(query):
            with self.server.expected_form():
                for page in found.get("query", {}).get("pages", ()):
                    batch.setdefault(page["pageid"], {}).update(page)
            if is_whole := bool(found.get("batchcomplete")):
                yield from batch.values()
                batch = {}
        if not is_whole:
            raise ListingFailed(f"{self.server.host} broke off its list of pages.")

    def entries(self, query: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
        """Yield the entries of a list. Raises ListingFailed, SourceAway."""
        for found in self._parts(query):
            with self.server.expected_form():
                listed = found["query"][query["list"]]
            yield from listed

    def _parts(self, query: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
        """Yield the answers to a query, the last of which names no continuation."""
        continuation: Mapping[str, str] | None = {}
        while continuation is not None:
            found = self.query({**query, **continuation})
            yield found
            if found.get("continue") == continuation:
                raise ListingFailed(f"{self.server.host} repeats a part of its list of pages.")
            continuation = found.get("continue")

    def log_in(self) -> None:
        """Log in with the bot password, if there is one and no session. Raises ListingFailed, SourceAway."""
        if not self._credentials or self._cookies:
            return
        token_query = {"action": "query", "meta": "tokens", "type": "login", **_FORMAT}
        found, answer = self.server.get("", token_query)
        self._cookies.update(answer.cookies)
        with self.server.expected_form():
            token = found["query"]["tokens"]["logintoken"]
        login = {"lgname": self._credentials["username"], "lgpassword": self._credentials["password"]}
        found, answer = self.server.post("", {"action": "login", "lgtoken": token, **login, **_FORMAT})
        with self.server.expected_form():
            result = found["login"]["result"]
        if result != "Success":
            self._cookies.clear()
            raise ListingFailed(WRONG_CREDENTIALS % {"host": self.server.host, "remark": f" ({result[:50]})"})
        self._cookies.update(answer.cookies)

    @property
    def _common(self) -> Mapping[str, str]:
        # A session that has ended must not pass for a wiki with fewer pages.
        return {**_FORMAT, **({"assert": "user"} if self._credentials else {})}

    def _headers(self) -> Mapping[str, str]:
        cookies = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        return {"Cookie": cookies} if cookies else {}

    def _error(self, error: Mapping[str, Any]) -> ListingFailed:
        host, code = self.server.host, error["code"]
        if code in _REFUSALS:
            return ListingFailed(WRONG_CREDENTIALS % {"host": host, "remark": f" ({code})"})
        kind = SourceAway if code in _AWAY else ListingFailed
        return kind(f"{host} answers: {str(error.get('info', code))[:200]}")

    def _fetch_error(self, path: str, error: Mapping[str, Any]) -> Exception:
        if error["code"] in _MISSING:
            return FileNotFoundError(path)
        if error["code"] in _AWAY | _REFUSALS:
            return SourceAway(str(self._error(error)))
        return OSError(f"{self.server.host} answers: {str(error.get('info', ''))[:200]}")


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
