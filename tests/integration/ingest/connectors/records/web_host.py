"""A real web server that counts fetches of documents, and may go away."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl

from werkzeug.serving import make_server


class WebHost:
    """A WSGI application behind a door that counts fetches and can be shut."""

    def __init__(
        self, application: Callable[..., Any], is_fetch: Callable[[Mapping[str, Any]], bool]
    ) -> None:
        self._application = application
        self._is_fetch = is_fetch
        self.fetched: list[str] = []
        self.fetches_left: int | None = None
        #: Paths of requests that the server fails at.
        self.broken: set[str] = set()
        self.broken_status = "500 Internal Server Error"
        self.server = make_server("127.0.0.1", 0, self, threaded=True)

    @property
    def url(self) -> str:
        """Return the address of the server."""
        return f"http://127.0.0.1:{self.server.port}"

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        """Answer a request, or 503 when the server is away."""
        if self._is_fetch(environ):
            self.fetched.append(environ["PATH_INFO"])
            if self.fetches_left is not None:
                self.fetches_left -= 1
        if environ["PATH_INFO"] in self.broken:
            start_response(self.broken_status, [("Content-Length", "0")])
            return [b""]
        if self.fetches_left is not None and self.fetches_left < 0:
            start_response("503 Service Unavailable", [("Content-Length", "0"), ("Connection", "close")])
            return [b""]
        return self._application(environ, start_response)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Serve during the block."""
        thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield
        finally:
            self.server.shutdown()
            thread.join()
            self.server.server_close()


class JsonHost(WebHost):
    """A server that answers JSON; `answer` says what."""

    def __init__(self, is_fetch: Callable[[Mapping[str, Any]], bool]) -> None:
        super().__init__(self._serve, is_fetch)
        self._seconds = 0
        #: Paths with queries that were requested since the last look.
        self.requested: list[str] = []
        #: Statuses and headers that the next requests get instead of an answer; None: they are answered.
        self.refusals: list[tuple[str, dict[str, str]] | None] = []

    def answer(
        self, method: str, path: str, query: dict[str, str], environ: Mapping[str, Any]
    ) -> tuple[str, Any, dict[str, str]]:
        """Return the status, the value and further headers."""
        raise NotImplementedError

    def tick(self) -> datetime:
        """Return the next second of the server's clock."""
        self._seconds += 1
        return self.now

    @property
    def now(self) -> datetime:
        """Return the time of the server's clock."""
        return datetime(2024, 5, 6, tzinfo=UTC) + timedelta(seconds=self._seconds)

    def _serve(self, environ: Mapping[str, Any], start_response: Callable[..., Any]) -> Any:
        path, query = environ["PATH_INFO"], dict(parse_qsl(environ["QUERY_STRING"]))
        # WSGI unescapes paths; GitLab tells %2F from /.
        path = environ.get("RAW_URI", path).partition("?")[0]
        self.requested.append(f"{path}?{environ['QUERY_STRING']}")
        refusal = self.refusals.pop(0) if self.refusals else None
        value: Any = {}
        if refusal is not None:
            status, headers = refusal
        else:
            status, value, headers = self.answer(environ["REQUEST_METHOD"], path, query, environ)
        body = json.dumps(value).encode()
        named = {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}
        start_response(status, list(named.items()))
        return [body]


def format_time(at: datetime) -> str:
    """Return a time as GitHub and MediaWiki write it."""
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
