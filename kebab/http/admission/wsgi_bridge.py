"""A bridge from ASGI to a WSGI application whose threads never wait for a client.

The request body is complete before a thread starts, and the response is complete, in memory or in a file,
before its first byte is sent.
"""

import asyncio
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import copy_context
from dataclasses import dataclass
from typing import IO, Any, Final

from asgiref.typing import ASGISendCallable, HTTPScope
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished
from django.db import close_old_connections

#: A longer streamed response is buffered in a file.
_IN_MEMORY_BYTES: Final = 4_000_000
# The server buffers a few pieces of a response that its client does not read.
_PIECE_BYTES: Final = 65_536

Environ = dict[str, Any]
WsgiApp = Callable[[Environ, Callable[..., object]], Iterable[bytes]]


class BodyNotReceived(BaseException):
    """A view reads a body that has not been received; no `except Exception` catches it."""


class UnreceivedBody:
    """A stand-in for a request body that has not been received."""

    def read(self, *_: object) -> bytes:
        """Raise BodyNotReceived."""
        raise BodyNotReceived

    readline = readlines = __iter__ = read


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferedResponse:
    """A complete response."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes | IO[bytes]

    async def send_to(self, send: ASGISendCallable) -> None:
        """Send the response in pieces, and always close its file."""
        if isinstance(self.body, bytes):
            await self._send_start(send)
            await _send_bytes(self.body, send)
            return
        with closing(self.body):
            await self._send_start(send)
            await _send_file(self.body, send)

    async def _send_start(self, send: ASGISendCallable) -> None:
        await send(
            {
                "type": "http.response.start",
                "status": self.status,
                "headers": self.headers,
                "trailers": False,
            }
        )


class WsgiThreads:
    """A WSGI application and its thread pool."""

    def __init__(self, app: WsgiApp, *, threads: int) -> None:
        self._app = app
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="WSGI")

    async def answer(self, environ: Environ) -> BufferedResponse | None:
        """Return the response; None if the application reads an UnreceivedBody."""
        run = copy_context().run
        return await asyncio.get_running_loop().run_in_executor(self._threads, run, self._answer, environ)

    def _answer(self, environ: Environ) -> BufferedResponse | None:
        head: list[Any] = []

        def start_response(status: str, headers: Sequence[tuple[str, str]], exc_info: Any = None) -> None:
            head[:] = status, headers

        try:
            response = self._app(environ, start_response)
        except BodyNotReceived:
            # The handler did not send this signal; it returns the thread's database connection.
            request_finished.send(sender=WSGIHandler)
            return None
        if isinstance(response, FileWrapper):
            close_old_connections()  # the response itself is closed later, in another thread
            body: bytes | IO[bytes] = response.file
        else:
            body = _buffer_body(response)
        status, headers = head
        encoded = [
            (name.lower().encode("latin-1"), value.strip().encode("latin-1")) for name, value in headers
        ]
        return BufferedResponse(status=int(status.partition(" ")[0]), headers=encoded, body=body)


class FileWrapper:
    """A file for the server to send (PEP 3333, `wsgi.file_wrapper`)."""

    def __init__(self, file: IO[bytes], block_size: int = _PIECE_BYTES) -> None:
        self.file = file


def _buffer_body(response: Iterable[bytes]) -> bytes | IO[bytes]:
    """Read the whole body of a response, and close the response."""
    try:
        if not getattr(response, "streaming", False):
            return b"".join(response)
        file = tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES)  # noqa: SIM115  # closed once it is sent
        for piece in response:
            file.write(piece)
        file.seek(0)
        return file
    finally:
        getattr(response, "close", lambda: None)()


async def _send_bytes(body: bytes, send: ASGISendCallable) -> None:
    for start in range(0, max(1, len(body)), _PIECE_BYTES):
        end = start + _PIECE_BYTES
        await send({"type": "http.response.body", "body": body[start:end], "more_body": end < len(body)})


async def _send_file(file: IO[bytes], send: ASGISendCallable) -> None:
    while piece := await asyncio.to_thread(file.read, _PIECE_BYTES):
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def build_environ(scope: HTTPScope, body: object) -> Environ:
    """Build the WSGI environment of a request (PEP 3333)."""
    host, port = scope.get("server") or ("localhost", 80)
    client, _ = scope.get("client") or ("", 0)
    environ: Environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": scope["path"].encode("utf-8", "surrogateescape").decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_NAME": host,
        "SERVER_PORT": str(port or 0),
        "REMOTE_ADDR": client,
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.get("scheme", "http"),
        "wsgi.input": body,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        "wsgi.file_wrapper": FileWrapper,
    }
    for raw_name, raw_value in scope["headers"]:
        if b"_" in raw_name:  # or X_Forwarded_For would pass for X-Forwarded-For
            continue
        name = raw_name.decode("latin-1").upper().replace("-", "_")
        name = name if name in {"CONTENT_LENGTH", "CONTENT_TYPE"} else f"HTTP_{name}"
        value = raw_value.decode("latin-1")
        if name in environ:
            separator = "; " if name == "HTTP_COOKIE" else ","
            value = f"{environ[name]}{separator}{value}"
        environ[name] = value
    return environ
