"""Program of the sandboxed process that talks to a web site and parses what it sends.

Run as `python -m ingest.connectors.web.child`, by `ingest.connectors.web.requests`. It has one answer at a
time, which the next request leaves.
"""

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import lru_cache

from ingest.connectors.web.addresses import Address, UrlScope
from ingest.connectors.web.content import HTML, mime_of, to_utf8
from ingest.connectors.web.links import LinkResolver, PageLinks, scan_links
from ingest.connectors.web.page_text import PageText
from ingest.connectors.web.robots import ROBOT, Directives, RobotRules
from ingest.connectors.web.sitemap import SitemapUnreadable, parse_sitemap
from ingest.parsers.decode import decode
from kebab.http_client.connections import RequestFailed, ResponseTooLarge, map_errors
from kebab.http_client.endpoint import Fetcher, StreamedResponse
from kebab.sandbox.child import serve
from kebab.sandbox.program import BODY, Header

#: The headers of a site that the parent reads.
_HEADERS = ("content-type", "etag", "last-modified", "location", "retry-after")
# Addresses in one frame, so that a large sitemap is not held twice.
_FRAME_ADDRESSES = 1_000


class SiteChild:
    """Handler of the requests of one crawl."""

    def __init__(self) -> None:
        self._client: Header = {}
        self._fetcher = Fetcher(headers={}, private_hosts=())
        self._response = ExitStack()
        self._answer: StreamedResponse | None = None

    def handle(self, header: Header, content: bytes) -> Iterator[Header]:
        """Yield the frames that answer a request; an error of the site is an answer, too."""
        try:
            if header["task"] == "judge":
                yield judge_address(header["url"], content)
            elif header["task"] == "open":
                yield self._open(header)
            else:
                yield from self._read(header)
        except (RequestFailed, SitemapUnreadable) as error:
            yield {
                "failed": str(error),
                "is_too_large": isinstance(error, ResponseTooLarge),
                "received_bytes": 0 if self._answer is None else self._answer.received_bytes,
            }

    def close(self) -> None:
        """Leave the present answer: its connection is kept if the answer was read to its end."""
        with suppress(RequestFailed), map_errors():
            self._response.close()

    def _open(self, header: Header) -> Header:
        self.close()
        self._answer = None
        if header["client"] != self._client:
            self._client = header["client"]
            self._fetcher = Fetcher(**self._client)
        self._answer = answer = self._response.enter_context(
            self._fetcher.send(header["url"], limit_s=header["limit_s"], headers=header["headers"])
        )
        return {"status": answer.status, "headers": {name: answer.header(name) for name in _HEADERS}}

    def _read(self, header: Header) -> Iterator[Header]:
        """Yield the body, or what is in it. Raises RequestFailed, SitemapUnreadable."""
        answer = self._answer
        if answer is None:
            raise RequestFailed("was left before it was read")
        with map_errors():
            content = answer.read(header["limit_bytes"])
        self.close()
        if header["task"] == "read_sitemap":
            found = parse_sitemap(content, header["limit_bytes"])
            for start in range(0, len(found.pages), _FRAME_ADDRESSES):
                yield {"pages": found.pages[start : start + _FRAME_ADDRESSES]}
            reply: Header = {"sitemaps": found.sitemaps}
        else:
            reply = {BODY: content} if header["task"] == "read" else scan_page(answer, content, header)
        yield {**reply, "received_bytes": answer.received_bytes}


def judge_address(url: str, robots: bytes) -> Header:
    """Return whether a robots.txt allows an address, and the least interval that it asks for."""
    rules = _rules(robots)
    return {"is_allowed": rules.allows(url), "interval_s": rules.interval_s}


def scan_page(answer: StreamedResponse, content: bytes, header: Header) -> Header:
    """Return a page's text in UTF-8 unless it is not to be indexed, its links and its canonical address."""
    content_type = answer.header("content-type")
    content = to_utf8(content, content_type)
    is_html = mime_of(content_type) in HTML
    html = decode(content) if is_html else ""
    links = scan_links(html, ROBOT) if is_html else PageLinks()
    directives = Directives.parse(links.robots, answer.headers("x-robots-tag"))
    resolver = LinkResolver(
        address=Address(**header["address"]),
        parameters=header["parameters"],
        scope=UrlScope(site=tuple(header["scope"]["site"]), prefix=header["scope"]["prefix"]),
    )
    return {
        "is_noindex": directives.noindex,
        "links": [] if directives.nofollow else resolver.keys(links),
        "canonical": resolver.canonical(links),
        "text": (
            PageText.of_html(html, resolver.address.url) if is_html else PageText.of_bytes(content)
        ).to_json(),
        BODY: b"" if directives.noindex else content,
    }


@lru_cache(maxsize=1)
def _rules(robots: bytes) -> RobotRules:
    return RobotRules(robots)


if __name__ == "__main__":
    serve(SiteChild().handle)
