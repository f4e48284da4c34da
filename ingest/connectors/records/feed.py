"""The connector of RSS and Atom feeds: each entry becomes an HTML page, and stays when the feed drops it."""

import hashlib
import json
from calendar import timegm
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from html import escape
from io import BytesIO
from typing import Any, Final

import feedparser
from django.utils.text import slugify

from ingest.connectors.errors import ListingFailed
from ingest.connectors.records.protocol import CursorRecord, DocumentRecord, Record
from ingest.connectors.records.requests import Answer, ServerRequests
from ingest.connectors.records.settings import ReaderSettings, parse_server
from ingest.connectors.records.webdav import basic_authorization
from ingest.connectors.records.xml_reader import refuse_many_nodes

_NOT_MODIFIED: Final = 304
# Each takes some 160 µs and 3 KB.
_MAX_ENTRIES: Final = 50_000
_MAX_SLUG_CHARS: Final = 80


class FeedReader:
    """A reader of the entries of one feed; its cursor is the feed's ETag and time."""

    def __init__(self, settings: ReaderSettings) -> None:
        self._server = parse_server(settings.config["url"], keeps_query=True)
        self._requests = ServerRequests(self._server, settings)
        self._login = basic_authorization(**settings.credentials)

    def records(self, cursor: str) -> Iterator[Record]:
        """Yield the entries of the feed, unless it is as it was. Raises ListingFailed, SourceAway."""
        validators = json.loads(cursor) if cursor else {}
        answer = self._requests.request(
            "GET",
            self._server.key,
            headers=lambda: {**self._login, **validators},
        )
        if answer.status == _NOT_MODIFIED:
            return
        if answer.status != 200:
            self._requests.fail_listing(answer)
        self._refuse_many(answer.body)
        # As a file: a text could be the address or the file that feedparser opens.
        body = BytesIO(answer.body)
        try:
            feed = feedparser.parse(body, sanitize_html=False, resolve_relative_uris=False)
        except ValueError as error:
            raise ListingFailed(f"{self._server.host} answers a damaged feed.") from error
        if not feed.version:
            raise ListingFailed(f"{self._server.host} does not answer with an RSS or Atom feed.")
        for entry in feed.entries:
            yield _document(entry)
        yield CursorRecord(state=json.dumps(_validators(answer)))

    def fetch(self, path: str, locator: str, limit_bytes: int) -> bytes:
        """Raise FileNotFoundError: all entries come with their content."""
        raise FileNotFoundError(path)

    def close(self) -> None:
        """Close the connections."""
        self._requests.close()

    def _refuse_many(self, content: bytes) -> None:
        refuse_many_nodes(content, self._server.host)
        if max(map(content.count, (b"<item", b"<entry"))) > _MAX_ENTRIES:
            raise ListingFailed(f"{self._server.host} answers a feed of more than {_MAX_ENTRIES:,} entries.")


def _validators(answer: Answer) -> dict[str, str]:
    """Return the headers that ask whether the feed has changed."""
    given = {"If-None-Match": answer.headers["etag"], "If-Modified-Since": answer.headers["last-modified"]}
    return {name: value for name, value in given.items() if value and value.isascii()}


def _document(entry: Any) -> DocumentRecord:
    title, url = str(entry.get("title", "")), str(entry.get("link", ""))
    # Entries of RSS may lack an id.
    identity = str(entry.get("id") or url or title)
    digest = hashlib.sha256(identity.encode()).hexdigest()[:12]
    moment = entry.get("published_parsed") or entry.get("updated_parsed")
    page = f"<!doctype html><title>{escape(title)}</title><h1>{escape(title)}</h1>\n{_html(entry)}\n"
    return DocumentRecord(
        path=f"{slugify(identity)[-_MAX_SLUG_CHARS:].strip('-') or 'entry'}-{digest}.html",
        content=page.encode(errors="replace"),
        title=title,
        author=str(entry.get("author", "")),
        dated=None if moment is None else datetime.fromtimestamp(timegm(moment), UTC),
        metadata={"url": url} if url else {},
    )


def _html(entry: Any) -> str:
    """Return the content of an entry, else its summary, as HTML."""
    details = [*entry.get("content", ()), entry.get("summary_detail") or {}]
    detail: Mapping[str, Any] = next((each for each in details if each.get("value")), {})
    text = str(detail.get("value", ""))
    return f"<p>{escape(text)}</p>" if detail.get("type") == "text/plain" else text
