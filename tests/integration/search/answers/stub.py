"""A local HTTP server that speaks chat completions, correctly or not, over real sockets."""

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.support import http_stub as stub

Behaviour = Callable[["Exchange"], None]
_USAGE = {"prompt_tokens": 120, "completion_tokens": 7, "total_tokens": 127}


class ModelStub(stub.Stub):
    """A server that responds as `behaviour` does."""

    def __init__(self, behaviour: Behaviour) -> None:
        super().__init__(behaviour, Exchange)
        #: Set when a client has hung up in the middle of an answer.
        self.was_left = threading.Event()

    @property
    def url(self) -> str:
        """Return the base address, below which `/chat/completions` lies."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Exchange(stub.Exchange):
    """One request and what a behaviour does with it."""

    server: ModelStub

    def do_POST(self) -> None:
        """Record the request, and respond."""
        try:
            super().do_POST()
        except OSError:
            self.server.was_left.set()

    @property
    def prompt(self) -> str:
        """Return the text of the user's message."""
        return str(self.sent["messages"][-1]["content"])

    def reply(self, document: Any, *, status: int = 200, **headers: str) -> None:
        """Answer with a JSON document, or with bytes as they are."""
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        super().reply(body, status=status, keeps=True, **{"Content-Type": "application/json", **headers})

    def begin_stream(self) -> None:
        """Send the head of a stream that ends when the connection closes."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Connection", "close")
        self.end_headers()

    def send_event(self, data: Any) -> None:
        """Send an event."""
        text = data if isinstance(data, str) else json.dumps(data)
        self.wfile.write(f"data: {text}\n\n".encode())
        self.wfile.flush()

    def send_remark(self, text: str) -> None:
        """Send an event-stream comment, by which servers keep a connection open."""
        self.wfile.write(f": {text}\n\n".encode())
        self.wfile.flush()

    def send_piece(self, text: str, finish_reason: str | None = None) -> None:
        """Send a piece of the answer's text."""
        choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish_reason}
        self.send_event({"id": "1", "object": "chat.completion.chunk", "choices": [choice]})

    def hang_up(self) -> None:
        """Close the connection in the middle of a response."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()


def says(*pieces: str) -> Behaviour:
    """Answer these pieces, as a stream where that is asked for, else as a whole."""

    def behave(exchange: Exchange) -> None:
        if not exchange.sent.get("stream"):
            exchange.reply(completion("".join(pieces)))
            return
        exchange.begin_stream()
        for piece in pieces:
            exchange.send_piece(piece)
        exchange.send_piece("", "stop")
        exchange.send_event({"id": "1", "object": "chat.completion.chunk", "choices": [], "usage": _USAGE})
        exchange.send_event("[DONE]")

    return behave


def completion(text: Any) -> dict[str, Any]:
    """Return a whole answer."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"id": "1", "object": "chat.completion", "choices": [choice], "usage": _USAGE}


def whole(text: Any) -> Behaviour:
    """Answer as a whole, whatever was asked for."""
    return lambda exchange: exchange.reply(completion(text))


def replies(document: Any, *, status: int = 200, **headers: str) -> Behaviour:
    """Answer this document, or these bytes."""
    return lambda exchange: exchange.reply(document, status=status, **headers)


def hangs(exchange: Exchange) -> None:
    """Send nothing until the test is over."""
    exchange.server.released.wait()


def drips(exchange: Exchange) -> None:
    """Send slowly and without end, until the client leaves or the test is over."""
    exchange.begin_stream()
    while not exchange.server.released.wait(0.02):
        exchange.send_piece("Enough [#1]. ")


def thinks(exchange: Exchange) -> None:
    """Send reasoning, which is not part of an answer, until the client leaves or the test is over."""
    exchange.begin_stream()
    choice = {"index": 0, "delta": {"reasoning_content": "Hm. "}, "finish_reason": None}
    while not exchange.server.released.wait(0.02):
        exchange.send_event({"id": "1", "object": "chat.completion.chunk", "choices": [choice]})


def ends_early(exchange: Exchange) -> None:
    """End a valid stream without its last event."""
    exchange.begin_stream()
    exchange.send_piece("Run the installer [#1]. Then")


def dies(exchange: Exchange) -> None:
    """Break a valid stream off."""
    exchange.begin_stream()
    exchange.send_piece("Run the installer [#1]. Then")
    exchange.hang_up()


def errs(exchange: Exchange) -> None:
    """Send an error event in the middle of a stream."""
    exchange.begin_stream()
    exchange.send_piece("Run the installer [#1]. Then")
    exchange.send_event({"error": {"message": "overloaded", "type": "server_error"}})


def in_turn(behaviours: Iterable[Behaviour]) -> Behaviour:
    """Use one behaviour after the other; the last one stays."""
    rest = iter(behaviours)
    return lambda exchange: next(rest)(exchange)


@contextmanager
def serving_model(behaviour: Behaviour) -> Iterator[ModelStub]:
    """Run a stub for as long as the context lasts."""
    with stub.running(ModelStub(behaviour)) as model:
        yield model
