"""Has the WSGI application answer in threads that know nothing of clients.

A request's body is there before its thread begins, and its answer is handed over whole, in memory or as a
file, before a byte of it is sent: however slowly a client sends or reads, it holds up no thread.
"""

import asyncio
import io
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import IO, Any, Final

from asgiref.typing import ASGISendCallable, HTTPScope
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished

#: An answer that is made piece by piece lies in a file when it becomes longer.
_IN_MEMORY_BYTES: Final = 4_000_000
# What is sent is sent in such pieces: the server holds a few of each answer that nobody takes.
_PIECE_BYTES: Final = 65_536

Environ = dict[str, Any]
WsgiApp = Callable[[Environ, Callable[..., object]], Iterable[bytes]]


class BodyWanted(BaseException):
    """A view reads a body that has not been received. No view is to catch it."""


class UnreceivedBody(io.RawIOBase):
    """A body that has not been received: who reads it is ended."""

    def readable(self) -> bool:
        """Return True: that a view may read is why it is here."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Raise BodyWanted."""
        raise BodyWanted

    readline = readlines = readall = readinto = __next__ = read  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a view has answered."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes | IO[bytes]

    async def send_by(self, send: ASGISendCallable) -> None:
        """Send it, piece by piece; the file is closed whatever happens."""
        try:
            await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
            if isinstance(self.body, bytes):
                await _send_bytes(self.body, send)
            else:
                await _send_file(self.body, send)
        finally:
            self.close()

    def close(self) -> None:
        """Let go of its file."""
        if not isinstance(self.body, bytes):
            self.body.close()


class Views:
    """The WSGI application, and the threads in which it answers."""

    def __init__(self, app: WsgiApp, *, threads: int) -> None:
        self._app = app
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="WSGI")

    async def answer(self, scope: HTTPScope, body: IO[bytes], **more: Any) -> Answer | None:
        """Return what the views answer; None where they want the body and it is an UnreceivedBody.

        `more` is added to what the views are told of the request.
        """
        environ = {**_environ(scope, body), **more}
        run = copy_context().run
        return await asyncio.get_running_loop().run_in_executor(self._threads, run, self._answer, environ)

    def _answer(self, environ: Environ) -> Answer | None:
        head: list[Any] = []

        def start_response(status: str, headers: Sequence[tuple[str, str]], exc_info: Any = None) -> None:
            head[:] = status, headers

        try:
            pieces = self._app(environ, start_response)
        except BodyWanted:
            # The handler was left before it could say so: connections are given back by it.
            request_finished.send(sender=WSGIHandler)
            return None
        body = pieces.file if isinstance(pieces, SentFile) else _collected(pieces)
        status, headers = head
        encoded = [
            (name.lower().encode("latin-1"), value.strip().encode("latin-1")) for name, value in headers
        ]
        return Answer(status=int(status.partition(" ")[0]), headers=encoded, body=body)


class SentFile:
    """What Django wraps a file in that it would have the server send (PEP 3333, `wsgi.file_wrapper`)."""

    def __init__(self, file: IO[bytes], block_size: int = _PIECE_BYTES) -> None:
        self.file = file


def _collected(pieces: Iterable[bytes]) -> bytes | IO[bytes]:
    """Return all pieces together, in a file if they are many, and close what made them."""
    held: list[bytes] = []
    size_bytes = 0
    file: IO[bytes] | None = None
    try:
        for piece in pieces:
            held.append(piece)
            size_bytes += len(piece)
            if size_bytes > _IN_MEMORY_BYTES and len(held) > 1:
                file = file or tempfile.TemporaryFile()  # noqa: SIM115  # whoever sends it closes it
                file.writelines(held)
                held, size_bytes = [], _IN_MEMORY_BYTES
    finally:
        getattr(pieces, "close", lambda: None)()
    if file is None:
        return held[0] if len(held) == 1 else b"".join(held)
    file.writelines(held)
    file.seek(0)
    return file


async def _send_bytes(body: bytes, send: ASGISendCallable) -> None:
    for start in range(0, max(1, len(body)), _PIECE_BYTES):
        end = start + _PIECE_BYTES
        await send({"type": "http.response.body", "body": body[start:end], "more_body": end < len(body)})


async def _send_file(file: IO[bytes], send: ASGISendCallable) -> None:
    while piece := await asyncio.to_thread(file.read, _PIECE_BYTES):
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _environ(scope: HTTPScope, body: IO[bytes]) -> Environ:
    """Return what PEP 3333 has a WSGI application told of a request."""
    host, port = scope.get("server") or ("localhost", 80)
    environ: Environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": scope["path"].encode("utf-8", "surrogateescape").decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_NAME": host,
        "SERVER_PORT": str(port or 0),
        "REMOTE_ADDR": scope["client"][0] if scope.get("client") else "",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.get("scheme", "http"),
        "wsgi.input": body,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        "wsgi.file_wrapper": SentFile,
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
