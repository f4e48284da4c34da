"""A local web site over real sockets, with pages that the test defines."""

import gzip
import hashlib
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.http_stub import running

Behaviour = Callable[["Exchange"], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The answer for one address."""

    body: bytes = b""
    status: int = 200
    mime: str | None = "text/html; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()
    #: Whether it has an ETag and answers 304 to who knows it.
    is_tagged: bool = True
    #: In the place of all that.
    behaviour: Behaviour | None = None


def html(text: str, *links: str, head: str = "", **page: Any) -> Page:
    """Return a page with a heading, a paragraph and links."""
    anchors = "".join(f'<a href="{link}">to {number}</a> ' for number, link in enumerate(links))
    body = (
        f"<!doctype html><html><head><title>{text}</title>{head}</head>\n<body>\n<h1>{text}</h1>\n"
        f"<p>All about {text}.</p>\n<nav>{anchors}</nav>\n</body></html>\n"
    )
    return Page(body=body.encode(), **page)


def redirect(location: str, status: int = 301) -> Page:
    """Return a page that redirects to `location`."""
    return Page(status=status, headers=(("Location", location),), is_tagged=False)


@dataclass(slots=True)
class ReceivedRequest:
    """One received request."""

    target: str
    headers: dict[str, str] = field(default_factory=dict)


class Site(ThreadingHTTPServer):
    """Serves `pages` by path and query; what isn't there is a 404. With a `context` it speaks TLS."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, host: str, context: ssl.SSLContext | None = None) -> None:
        super().__init__((host, 0), Exchange)
        self.host = host
        self.scheme = "http" if context is None else "https"
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.pages: dict[str, Page] = {}
        self.asked: list[ReceivedRequest] = []
        #: Set when the test is over: what hangs lets go.
        self.released = threading.Event()

    def url(self, path: str = "/") -> str:
        """Return the address of a path."""
        return f"{self.scheme}://{self.host}:{self.server_address[1]}{path}"

    def targets(self) -> list[str]:
        """Return the targets requested since the last call, without robots.txt."""
        found = [asked.target for asked in self.asked if asked.target != "/robots.txt"]
        self.asked.clear()
        return found

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors: the tests make clients hang up."""


class Exchange(BaseHTTPRequestHandler):
    """One request and its response."""

    protocol_version = "HTTP/1.1"
    server: Site

    def do_GET(self) -> None:
        """Record the request, and respond."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.append(ReceivedRequest(self.path, headers))
        page = self.server.pages.get(self.path, Page(status=404, is_tagged=False))
        if page.behaviour is not None:
            page.behaviour(self)
            return
        self.answer(page)

    def answer(self, page: Page) -> None:
        """Send the page, or 304 if the client has it."""
        tag = f'"{hashlib.sha256(page.body).hexdigest()[:16]}"'
        is_known = page.is_tagged and self.headers.get("If-None-Match") == tag
        body = b"" if is_known else page.body
        self.send_response(304 if is_known else page.status)
        if page.is_tagged:
            self.send_header("ETag", tag)
        if page.mime is not None:
            self.send_header("Content-Type", page.mime)
        for name, value in page.headers:
            self.send_header(name, value)
        if not is_known:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def begin(self, *headers: tuple[str, str]) -> None:
        """Send the head of a response that ends with the connection."""
        self.send_response(200)
        for name, value in (("Content-Type", "text/html"), ("Connection", "close"), *headers):
            self.send_header(name, value)
        self.end_headers()

    def drip(self, pieces: Iterator[bytes], every_s: float = 0.01) -> None:
        """Send pieces until they are used up, the client has left or the test is over."""
        for piece in pieces:
            if self.server.released.wait(every_s):
                return
            self.wfile.write(piece)
            self.wfile.flush()

    def log_message(self, *args: Any) -> None:
        """Keep quiet."""


def gzip_page(page: Page) -> Page:
    """Return the page with its body compressed."""
    return Page(body=gzip.compress(page.body), mime=page.mime, headers=(("Content-Encoding", "gzip"),))


def serving(host: str = "127.0.0.1", context: ssl.SSLContext | None = None) -> AbstractContextManager["Site"]:
    """Run a site for as long as the context lasts."""
    return running(Site(host, context))


def sitemap(site, *paths):
    """Return a page that lists these paths of the site."""
    listed = "".join(f"<url><loc>{site.url(path)}</loc></url>" for path in paths)
    text = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</urlset>'
    return Page(body=text.encode(), mime="application/xml")


#: What `linked_site` holds.
LINKED_PAGES = {"index.html", "docs/index.html", "docs/intro.html", "guide.html"}
