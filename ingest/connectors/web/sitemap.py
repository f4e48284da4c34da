"""Sitemaps: lists of addresses as XML (sitemaps.org) or one per line, optionally compressed.

XML is read as widely as it is written: in any namespace and case, with unescaped `&` and undeclared prefixes.
One that breaks off is refused.
"""

import io
import re
from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat

from kebab.http_client.connections import RequestFailed
from kebab.http_client.decompress import inflate

#: Limit of the protocol for one uncompressed file.
MAX_SITEMAP_BYTES: Final = 50 * 1024**2
MAX_SITEMAP_ADDRESSES: Final = 50_000
_GZIP = b"\x1f\x8b"
_MAX_LOCATION_CHARS = 4_000
_LONE_AMPERSAND = re.compile(r"&(?!(?:#[0-9]{1,7}|#x[0-9a-fA-F]{1,6}|amp|lt|gt|quot|apos);)")
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_NO_SITEMAP = "is neither an XML sitemap nor a list of addresses"


class SitemapUnreadable(Exception):
    """The content is no sitemap; the message completes a sentence whose subject is its address."""


class _Malformed(SitemapUnreadable):
    pass


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
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        content = content.decode("utf-16", "replace").encode()
    content = content.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not content.startswith(b"<"):
        return _parse_lines(content)
    try:
        return _XmlReader(None).read(content)
    except _Malformed:
        return _XmlReader("utf-8").read(_mend(content))


def _mend(content: bytes) -> bytes:
    """Return XML in UTF-8, in which each `&` begins a reference, without characters that XML forbids."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    return _LONE_AMPERSAND.sub("&amp;", _FORBIDDEN.sub("", text)).encode()


def _parse_lines(content: bytes) -> Sitemap:
    found = Sitemap()
    for line in io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", errors="replace"):
        address = line.strip()
        if not address or address.startswith("#"):
            continue
        if not address.lower().startswith(("http://", "https://", "/")):
            raise SitemapUnreadable(_NO_SITEMAP)
        found.pages.append(address)
        if len(found.pages) == MAX_SITEMAP_ADDRESSES:
            break
    if not found.pages:
        raise SitemapUnreadable(_NO_SITEMAP)
    return found


class _XmlReader:
    """A parser for `<url><loc>` and `<sitemap><loc>`; it refuses document types, and so all entities."""

    def __init__(self, encoding: str | None) -> None:
        self._found = Sitemap()
        self._open: list[str] = []
        self._text = ""
        self._is_complete = False
        self._parser = expat.ParserCreate(encoding)
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._parser.StartElementHandler = self._start_element
        self._parser.EndElementHandler = self._end_element
        self._parser.CharacterDataHandler = self._add_text

    def read(self, content: bytes) -> Sitemap:
        try:
            self._parser.Parse(content, True)
        except (LookupError, ValueError) as error:
            raise SitemapUnreadable(f"is in an unknown encoding: {error}") from error
        except expat.ExpatError as error:
            if not self._is_complete:
                raise _Malformed(f"is not the XML of a sitemap: {error}") from error
        return self._found

    def _refuse_doctype(self, *arguments: object) -> None:
        raise SitemapUnreadable("declares a document type, which no sitemap needs")

    def _start_element(self, name: str, attributes: object) -> None:
        local = name.rpartition(":")[2].lower()
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
        self._is_complete = not self._open
