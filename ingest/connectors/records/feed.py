"""The connector of RSS, Atom and JSON feeds: entries become HTML pages, and stay when the feed drops them."""

import hashlib
import json
import re
from calendar import timegm
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from io import BytesIO
from typing import Any, Final
from urllib.parse import urljoin

import feedparser
from django.utils.text import slugify

from ingest.connectors.errors import ListingFailed
from ingest.connectors.records.issues import parse_json
from ingest.connectors.records.requests import ReaderSettings, ServerRequests, parse_server, refuse_many_nodes
from ingest.connectors.records.webdav import basic_authorization
from ingest.connectors.records.wire import CursorRecord, DocumentRecord, Record
from ingest.connectors.web.page_text import PageText
from ingest.parsers.stated_metadata import iso_date

_NOT_MODIFIED: Final = 304
# Each takes some 160 µs and 3 KB.
_MAX_ENTRIES: Final = 50_000
# Entries whose paths the cursor holds, so that they keep them if their ids are others at every request.
_MAX_KNOWN: Final = 5_000
_MAX_SLUG_CHARS: Final = 80
_TAG: Final = re.compile("<[^<>]*>")
_RELATIVE: Final = re.compile(r"""\b(?:href|src)\s?=\s?["']?(?![\w.+-]{1,20}:|//|#)""", re.IGNORECASE)
# What stands around the numbers of a date: the day of the week, and the ending of an ordinal number.
_AROUND_DATE: Final = re.compile(r"^[^\W\d]{1,20}\.?,?\s|(?<=\d)(?:st|nd|rd|th|\.)(?=\s)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """An entry of a feed."""

    #: what may identify it, best first
    names: Sequence[str]
    title: str
    url: str
    html: str
    author: str
    dated: datetime | None

    @property
    def key(self) -> str:
        """Return what stays of an entry whose id does not; with a date, nor the parameters of its link."""
        url = self.url if self.dated is None else self.url.partition("?")[0]
        return _digest(f"{self.title}\n{url}\n{self.dated}")

    def document(self, path: str) -> DocumentRecord:
        """Return the page of the entry."""
        heading = f"<title>{escape(self.title)}</title><h1>{escape(self.title)}</h1>" if self.title else ""
        base = f'<base href="{escape(self.url)}">' if self.url and _RELATIVE.search(self.html) else ""
        page = f"<!doctype html>{base}{heading}\n{self.html}\n"
        text = PageText.of_html(page, self.url).text
        return DocumentRecord(
            path=path,
            version=_digest(f"{text}\n{self.title}\n{self.author}\n{self.url.partition('?')[0]}"),
            content=page.encode(errors="replace"),
            title=self.title,
            author=self.author,
            dated=self.dated,
            metadata={"url": self.url} if self.url else {},
        )


class FeedReader:
    """A reader of the entries of one feed; its cursor is the feed's ETag and time."""

    def __init__(self, settings: ReaderSettings) -> None:
        self._server = parse_server(settings.config["url"], keeps_query=True)
        self._requests = ServerRequests(self._server, settings)
        self._login = basic_authorization(**settings.credentials)

    def records(self, cursor: str) -> Iterator[Record]:
        """Yield the entries of the feed, unless it is as it was. Raises ListingFailed, SourceAway."""
        state = json.loads(cursor) if cursor else {}
        known = state.pop("paths", {})
        answer = self._requests.request("GET", self._server.key, headers=lambda: {**self._login, **state})
        if answer.status == _NOT_MODIFIED:
            return
        if answer.status != 200:
            self._requests.fail_listing(answer)
        is_json = answer.body.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")
        entries = list((self._json_entries if is_json else self._xml_entries)(answer.body))
        counts = Counter(name for entry in entries for name in (*entry.names, entry.key))
        paths, former = {}, set(known.values())
        for entry in entries:
            identity = next((name for name in entry.names if counts[name] == 1), entry.names[-1])
            slug = slugify(identity[:1_000])[-_MAX_SLUG_CHARS:].strip("-") or "entry"
            path = f"{slug}-{_digest(identity)[:12]}.html"
            if counts[entry.key] == 1:
                path = paths[entry.key] = path if path in former else known.get(entry.key, path)
            yield entry.document(path)
        kept = {"paths": paths} if len(paths) <= _MAX_KNOWN else {}
        stated = {"If-None-Match": "etag", "If-Modified-Since": "last-modified"}
        validators = {name: answer.headers[header] for name, header in stated.items()}
        asked = {name: value for name, value in validators.items() if value and value.isascii()}
        yield CursorRecord(state=json.dumps({**asked, **kept}))

    def fetch(self, path: str, locator: str, limit_bytes: int) -> bytes:
        """Raise FileNotFoundError: all entries come with their content."""
        raise FileNotFoundError(path)

    def close(self) -> None:
        """Close the connections."""
        self._requests.close()

    def _check_count(self, entries: int) -> None:
        if entries > _MAX_ENTRIES:
            raise ListingFailed(f"{self._server.host} answers a feed of more than {_MAX_ENTRIES:,} entries.")

    def _xml_entries(self, content: bytes) -> Iterator[_Entry]:
        """Yield the entries of RSS and Atom. Raises ListingFailed."""
        host = self._server.host
        refuse_many_nodes(content, host)
        self._check_count(max(map(content.count, (b"<item", b"<entry"))))
        try:
            # As a file: a text could be the address or the file that feedparser opens.
            feed = feedparser.parse(BytesIO(content), sanitize_html=False, resolve_relative_uris=False)
        except ValueError as error:
            raise ListingFailed(f"{host} answers a damaged feed.") from error
        if not feed.version:
            raise ListingFailed(f"{host} does not answer with an RSS or Atom feed, or a JSON feed.")
        base = _join(self._server.url, str(feed.feed.get("link", ""))) or self._server.url
        for entry in feed.entries:
            yield _xml_entry(entry, base)

    def _json_entries(self, content: bytes) -> Iterator[_Entry]:
        """Yield the entries of a JSON feed (jsonfeed.org, 1.0 and 1.1). Raises ListingFailed."""
        try:
            feed = parse_json(content)
        except ValueError as error:
            raise ListingFailed(f"{self._server.host} answers a damaged feed: {error}.") from error
        if not isinstance(items := feed.get("items"), list):
            raise ListingFailed(f"{self._server.host} does not answer with a feed: its JSON lacks items.")
        base = _join(self._server.url, str(feed.get("home_page_url") or "")) or self._server.url
        authors = [feed.get("author"), *_listed(feed, "authors")]
        self._check_count(len(items))
        for item in items:
            if isinstance(item, dict):
                yield _json_entry(item, base, authors)


def _xml_entry(entry: Any, base: str) -> _Entry:
    title, link = str(entry.get("title") or entry.get("itunes_title") or ""), str(entry.get("link", ""))
    if entry.get("guidislink") and "/" not in link:
        link = ""  # an id that does not say that it is no address
    if entry.get("title_detail", {}).get("type") == "text/html":
        title = " ".join(_TAG.sub("", title).split())
    dates = [str(dict.get(entry, name) or "") for name in ("published", "updated", "created")]
    # The longest counts: podcasts and videos have several.
    details = [*entry.get("content", ()), entry.get("summary_detail") or {}]
    detail: Mapping[str, Any] = max(details, key=lambda each: len(str(each.get("value") or "")))
    text = str(detail.get("value") or "")
    html = f"<p>{escape(text)}</p>" if detail.get("type") == "text/plain" else text
    return _Entry(
        names=_names(str(entry.get("id", "")), link, title, next(filter(None, dates), ""), html),
        title=title,
        url=_join(base, link),
        html=html,
        author=str(entry.get("author", "")),
        dated=_moment(dates)
        or _parsed(dict.get(entry, "published_parsed") or dict.get(entry, "updated_parsed"), dates),
    )


def _json_entry(item: Mapping[str, Any], base: str, authors: Sequence[Any]) -> _Entry:
    fields = {name: str(item.get(name) or "") for name in ("id", "title", "url", "external_url", "summary")}
    text = str(item.get("content_text") or fields["summary"])
    html = str(item.get("content_html") or "") or "".join(
        f"<p>{escape(each)}</p>" for each in text.split("\n\n")
    )
    for attached in _listed(item, "attachments"):
        url = _join(base, str(attached.get("url") or ""))
        html += f'\n<p><a href="{escape(url)}">{escape(str(attached.get("title") or url))}</a></p>'
    stated = [item.get("author"), *_listed(item, "authors")]
    named = [str(each["name"]) for each in stated if isinstance(each, dict) and each.get("name")]
    shared = [str(each["name"]) for each in authors if isinstance(each, dict) and each.get("name")]
    dates = [str(item.get(name) or "") for name in ("date_published", "date_modified")]
    link = fields["url"] or fields["external_url"]
    return _Entry(
        names=_names(fields["id"], link, fields["title"], next(filter(None, dates), ""), html),
        title=fields["title"],
        url=_join(base, link),
        html=html,
        author=", ".join(dict.fromkeys(named or shared)),
        dated=_moment(dates),
    )


def _listed(value: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    listed = value.get(name)
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def _names(identity: str, link: str, title: str, date: str, html: str) -> list[str]:
    """Return what may identify an entry, best first; feeds may lack ids, or give the same to all."""
    return [name for name in (identity, link, f"{title} {date}".strip()) if name] + [
        f"{title}\n{date}\n{_digest(html)}"
    ]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def _join(base: str, link: str) -> str:
    try:
        return urljoin(base, link) if link else ""
    except ValueError:  # invalid brackets
        return link


def _moment(dates: Sequence[str]) -> datetime | None:
    """Return the first date that can be told for sure, also if it is written as seconds since 1970."""
    for text in dates:
        with suppress(ValueError, OverflowError):
            if text.isdecimal() and len(text) in (10, 13):
                return datetime.fromtimestamp(int(text[:10]), UTC)
            date = iso_date(text) or iso_date(_AROUND_DATE.sub("", text))
            if date is not None:
                moment = datetime.fromisoformat(date if len(date) > len("2026-08") else f"{date}-01-01"[:10])
                return moment.replace(tzinfo=moment.tzinfo or UTC)
    return None


def _parsed(moment: Any, dates: Sequence[str]) -> datetime | None:
    """Return the moment that feedparser reads; it guesses at those in numbers alone."""
    is_sure = moment is not None and any(re.search(r"[^\W\d]{3}", text) for text in dates)
    return datetime.fromtimestamp(timegm(moment), UTC) if is_sure else None
