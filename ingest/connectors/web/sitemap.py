"""Sitemaps: lists of addresses as XML (sitemaps.org) or one per line, optionally compressed."""

import io
from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat

from kebab.http_client.decompress import inflate
from kebab.http_client.errors import RequestFailed

#: Limit of the protocol for one uncompressed file.
MAX_SITEMAP_BYTES: Final = 50 * 1024**2
MAX_SITEMAP_ADDRESSES: Final = 50_000
_GZIP = b"\x1f\x8b"
_MAX_LOCATION_CHARS = 4_000
_NO_SITEMAP = "is neither an XML sitemap nor a list of addresses"


class SitemapUnreadable(Exception):
    """The content is no sitemap; the message completes a sentence whose subject is its address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitemap:
    """The addresses that a sitemap lists."""

    pages: list[str] = field(default_factory=list)
    #: Other sitemaps, if this is an index.
    sitemaps: list[str] = field(default_factory=list)


def parse_sitemap(content: bytes, limit_bytes: int = MAX_SITEMAP_BYTES) -> Sitemap:
    """Parse a sitemap of up to `limit_bytes` and 50,000 addresses. Raises SitemapUnreadable."""
    if content.startswith(_GZIP):
        try:
            content = inflate(content, limit_bytes)
        except RequestFailed as error:
            raise SitemapUnreadable(str(error)) from error
    if content.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<"):
        return _XmlReader().read(content)
    return _parse_lines(content)


def _parse_lines(content: bytes) -> Sitemap:
    found = Sitemap()
    for line in io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", errors="replace"):
        address = line.strip()
        if not address:
            continue
        if not address.startswith(("http://", "https://")):
            raise SitemapUnreadable(_NO_SITEMAP)
        found.pages.append(address)
        if len(found.pages) == MAX_SITEMAP_ADDRESSES:
            break
    if not found.pages:
        raise SitemapUnreadable(_NO_SITEMAP)
    return found


class _XmlReader:
    """A parser for `<url><loc>` and `<sitemap><loc>`; it refuses document types, and so all entities."""

    def __init__(self) -> None:
        self._found = Sitemap()
        self._open: list[str] = []
        self._text = ""
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._parser.StartElementHandler = self._start_element
        self._parser.EndElementHandler = self._end_element
        self._parser.CharacterDataHandler = self._add_text

    def read(self, content: bytes) -> Sitemap:
        try:
            self._parser.Parse(content, True)
        except (expat.ExpatError, LookupError, ValueError) as error:  # malformed, or in an unknown encoding
            raise SitemapUnreadable(f"is not the XML of a sitemap: {error}") from error
        return self._found

    def _refuse_doctype(self, *arguments: object) -> None:
        raise SitemapUnreadable("declares a document type, which no sitemap needs")

    def _start_element(self, name: str, attributes: object) -> None:
        local = name.rpartition(" ")[2]
        if not self._open and local not in ("urlset", "sitemapindex"):
            raise SitemapUnreadable(f"is not a sitemap: it begins with <{local[:50]}>")
        if len(self._open) > 20:
            raise SitemapUnreadable("is nested deeper than any sitemap")
        self._open.append(local)
        self._text = ""

    def _add_text(self, text: str) -> None:
        if self._open[-1:] == ["loc"] and len(self._text) < _MAX_LOCATION_CHARS:
            self._text += text

    def _end_element(self, name: str) -> None:
        lists = {"url": self._found.pages, "sitemap": self._found.sitemaps}
        found = lists.get(self._open[-2]) if self._open[1:] and self._open[-1] == "loc" else None
        if found is not None and self._text.strip() and len(found) < MAX_SITEMAP_ADDRESSES:
            found.append(self._text.strip())
        self._open.pop()
