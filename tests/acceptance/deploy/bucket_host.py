"""An S3 bucket on this machine, with the parts of the protocol that Kebab uses."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "blobs"


class BucketHost(ThreadingHTTPServer):
    """Keeps objects in memory, by their keys."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects: dict[str, bytes] = {}
        #: Whether all requests are answered with 503.
        self.is_failing = False

    @property
    def url(self) -> str:
        """Return the endpoint."""
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def bucket_host() -> Iterator[BucketHost]:
    """Serve a bucket in a thread."""
    host = BucketHost()
    thread = Thread(target=host.serve_forever)
    thread.start()
    try:
        yield host
    finally:
        host.shutdown()
        thread.join()
        host.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: BucketHost

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self._refuses():
            return
        self.server.objects[self._key] = body
        self._send(200)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        if self._refuses():
            return
        if not self._key:
            self._send(200, self._listing().encode())
        elif self._key in self.server.objects:
            self._send(200, self.server.objects[self._key])
        else:
            self._send(404, b"<Error><Code>NoSuchKey</Code></Error>")

    def do_DELETE(self) -> None:
        if self._refuses():
            return
        self.server.objects.pop(self._key, None)
        self._send(204)

    def log_message(self, *_: object) -> None:
        """Disable logging."""

    @property
    def _key(self) -> str:
        return unquote(urlsplit(self.path).path).removeprefix(f"/{BUCKET}").lstrip("/")

    def _refuses(self) -> bool:
        if self.server.is_failing:
            self._send(503, b"<Error><Code>SlowDown</Code></Error>")
        elif not self.path.startswith(f"/{BUCKET}"):
            self._send(404, b"<Error><Code>NoSuchBucket</Code></Error>")
        else:
            return False
        return True

    def _listing(self) -> str:
        parameters = parse_qs(urlsplit(self.path).query)
        prefix = parameters.get("prefix", [""])[0]
        below = [key.removeprefix(prefix) for key in sorted(self.server.objects) if key.startswith(prefix)]
        folders = sorted({name.partition("/")[0] for name in below if "/" in name})
        keys = [
            f"<Contents><Key>{escape(prefix + name)}</Key></Contents>" for name in below if "/" not in name
        ]
        prefixes = [
            f"<CommonPrefixes><Prefix>{escape(prefix + name)}/</Prefix></CommonPrefixes>" for name in folders
        ]
        inner = "".join((*keys, *prefixes))
        return f"<ListBucketResult><IsTruncated>false</IsTruncated>{inner}</ListBucketResult>"

    def _send(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Last-Modified", formatdate(usegmt=True))
        self.send_header("ETag", f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"')
        self.end_headers()
        if self.command != "HEAD" and status != 204:
            self.wfile.write(body)
