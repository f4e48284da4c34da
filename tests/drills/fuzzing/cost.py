"""Cost of a request inside the web application, called in this process and without a server."""

import io
import logging
import resource
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from kebab.http.admission.wsgi_bridge import build_environ

_SHOWN_CHARS = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A request as a client sends it."""

    method: str
    #: Percent-encoded.
    target: str
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""

    @property
    def preview(self) -> str:
        """Return its beginning, for a report."""
        headers = [f"{name}: {value[:40]!a}" for name, value in self.headers if name != "authorization"]
        target, body = self.target[:_SHOWN_CHARS], self.body[:_SHOWN_CHARS]
        return f"{self.method} {target} {headers} {body!r} ({len(self.body)} bytes)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The answer to a request, and its cost."""

    status: int
    body: bytes
    #: Processor time of all threads of this process.
    processor_s: float
    elapsed_s: float
    #: How much the peak of this process' memory has grown.
    grown_bytes: int
    error: str = ""


class _LastError(logging.Handler):
    """Remembers the last error that was logged."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Remember a record."""
        self.text = self.format(record)


@dataclass
class Meter:
    """Calls an application, and measures each request."""

    application: Callable[..., Iterable[bytes]]
    _errors: _LastError = field(default_factory=_LastError)

    def __enter__(self) -> "Meter":
        logging.getLogger().addHandler(self._errors)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger().removeHandler(self._errors)

    def send(self, sent: Sent) -> Cost:
        """Return what the answer to a request costs."""
        environ = _environ(sent)
        self._errors.text, statuses = "", []
        peak, began, processor = _peak_bytes(), time.perf_counter(), time.process_time()
        response = self.application(environ, lambda status, headers, exc_info=None: statuses.append(status))
        try:
            # A stream is written by the event loop, which holds no thread.
            body = b"" if getattr(response, "is_async", False) else b"".join(response)
        finally:
            getattr(response, "close", lambda: None)()
        return Cost(
            status=int(statuses[0].partition(" ")[0]),
            body=body,
            processor_s=time.process_time() - processor,
            elapsed_s=time.perf_counter() - began,
            grown_bytes=_peak_bytes() - peak,
            error=self._errors.text,
        )


def _environ(sent: Sent) -> dict[str, Any]:
    path, _, query = sent.target.partition("?")
    headers = [("host", "127.0.0.1:8000"), ("content-length", str(len(sent.body))), *sent.headers]
    scope: Any = {
        "type": "http",
        "method": sent.method,
        "path": unquote(path, errors="surrogateescape"),
        "query_string": query.encode("ascii"),
        "http_version": "1.1",
        "server": ("127.0.0.1", 8000),
        "client": ("127.0.0.1", 40_000),
        "headers": [
            (name.encode("latin-1"), value.encode("utf-8", "surrogatepass")) for name, value in headers
        ],
    }
    return build_environ(scope, io.BytesIO(sent.body))


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
