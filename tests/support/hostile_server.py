"""A server that harms its clients over real sockets: it answers every request in one hostile way.

A test of an outgoing client runs `serving(HOSTILITIES[name], dialect)` for every name. The dialect makes the
answers look like what the client asked for, so that it reads them.
"""

import itertools
import socketserver
import threading
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from tests.support.http_stub import running

PIECE_BYTES: Final = 65_536
DRIP_S: Final = 0.05
#: More than any client reads of one answer.
HUGE_BYTES: Final = 400 * 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Answers that a client takes for what it asked for; by default they are JSON."""

    status: str = "200 OK"
    #: Targets that are not there.
    missing: Collection[str] = ()
    mime: str = "application/json"
    #: Begins an answer that goes on with items for ever.
    opening: bytes = b"["
    item: bytes = b'{"id": 1, "text": "About tides"}, '
    #: The smallest item, of which an answer has millions.
    crumb: bytes = b"{},"
    #: Opens a level of nesting.
    nest: bytes = b"["
    #: Returns headers and body of a whole answer after which the client asks for another, by their number.
    page: Callable[[int], tuple[Mapping[str, str], bytes]] = lambda number: ({}, b"[]")


class HostileServer(socketserver.ThreadingTCPServer):
    """A server that does the same harm to every connection."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(self, harm: Callable[["Exchange"], None], dialect: Any) -> None:
        super().__init__(("127.0.0.1", 0), Exchange)
        self.harm = harm
        self.dialect = dialect
        #: Targets of the requests, in order.
        self.requested: list[str] = []
        self.numbers = itertools.count(1)
        #: Set when the test is over: what hangs lets go.
        self.released = threading.Event()

    @property
    def port(self) -> int:
        """Return the port."""
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        """Return the address."""
        return f"http://127.0.0.1:{self.port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors: clients hang up, which is what they should do."""


class Exchange(socketserver.StreamRequestHandler):
    """A connection, and the harm that is done to it."""

    server: HostileServer

    def handle(self) -> None:
        """Harm the client until it has left or the test is over."""
        with suppress(OSError):
            self.server.harm(self)

    @property
    def dialect(self) -> Any:
        """Return the answers that the client expects."""
        return self.server.dialect

    def send(self, content: bytes) -> None:
        """Send bytes. Raises OSError when the client has left or the test is over."""
        if self.server.released.is_set():
            raise ConnectionAbortedError
        self.wfile.write(content)

    def send_for_ever(self, content: bytes) -> None:
        """Repeat `content` at full speed."""
        piece = content * (PIECE_BYTES // len(content) + 1)
        while True:
            self.send(piece)

    def drip(self, content: bytes) -> None:
        """Repeat `content` byte by byte, slowly."""
        for byte in itertools.cycle(content):
            self.send(bytes([byte]))
            self.server.released.wait(DRIP_S)

    def hang(self) -> None:
        """Send nothing until the test is over."""
        self.server.released.wait()

    def read_request(self) -> str:
        """Read and record a request, and return its target; "" at the end of the connection."""
        words = self.rfile.readline().split()
        if len(words) < 2:
            return ""
        length = 0
        while line := self.rfile.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        self.rfile.read(length)
        self.server.requested.append(words[1].decode())
        return self.server.requested[-1]

    def begin(self, status: str = "", **headers: object) -> None:
        """Send the head of an answer; `_` in names of headers stands for `-`."""
        named = {
            "Content-Type": self.dialect.mime,
            **{name.replace("_", "-"): each for name, each in headers.items()},
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        self.send(f"HTTP/1.1 {status or self.dialect.status}\r\n{lines}\r\n".encode())


def _answers(answer: Callable[[Exchange], None]) -> Callable[[Exchange], None]:
    """Return the harm of answering each request of a connection in this way."""

    def harm(exchange: Exchange) -> None:
        while target := exchange.read_request():
            if target in exchange.dialect.missing:
                exchange.begin("404 Not Found", Content_Length=0)
            else:
                answer(exchange)

    return harm


def _endless_body(exchange: Exchange) -> None:
    exchange.begin()
    exchange.send(exchange.dialect.opening)
    exchange.send_for_ever(exchange.dialect.item)


def _endless_headers(exchange: Exchange) -> None:
    exchange.send(b"HTTP/1.1 200 OK\r\n")
    exchange.send_for_ever(b"X-Tide: " + b"high " * 20 + b"\r\n")


def _endless_promises(exchange: Exchange) -> None:
    exchange.send_for_ever(b"HTTP/1.1 103 Early Hints\r\nX-Tide: high\r\n\r\n")


def _endless_chunk_head(exchange: Exchange) -> None:
    exchange.begin(Transfer_Encoding="chunked")
    exchange.send(b"5;tide=")
    exchange.send_for_ever(b"high")


def _endless_trickle_of_chunks(exchange: Exchange) -> None:
    exchange.begin(Transfer_Encoding="chunked")
    exchange.send_for_ever(b"1;" + b"tide" * 100 + b"\r\n \r\n")


def _slow_body(exchange: Exchange) -> None:
    exchange.begin(Content_Length=HUGE_BYTES)
    exchange.drip(exchange.dialect.opening + exchange.dialect.item)


def _slow_headers(exchange: Exchange) -> None:
    exchange.send(b"HTTP/1.1 200 OK\r\nX-Tide: ")
    exchange.drip(b"high ")


def _silence(exchange: Exchange) -> None:
    exchange.hang()


def _huge(exchange: Exchange) -> None:
    exchange.begin(Content_Length=HUGE_BYTES)
    exchange.send(exchange.dialect.opening)
    exchange.send_for_ever(exchange.dialect.item)


def _whole(exchange: Exchange, body: bytes, **headers: object) -> None:
    exchange.begin(Content_Length=len(body), **headers)
    exchange.send(body)


def _deep(exchange: Exchange) -> None:
    _whole(exchange, exchange.dialect.opening + exchange.dialect.nest * 1_000_000)


def _crumbs(exchange: Exchange) -> None:
    """Answer with as many small items as fit into an answer that is read."""
    dialect = exchange.dialect
    _whole(exchange, dialect.opening + dialect.crumb * (15_000_000 // len(dialect.crumb)))


def _packed_crumbs(exchange: Exchange) -> None:
    dialect = exchange.dialect
    body = dialect.opening + dialect.crumb * (15_000_000 // len(dialect.crumb))
    _whole(exchange, zlib.compress(body, 1), Content_Encoding="deflate")


def _packed_bomb(exchange: Exchange) -> None:
    packer = zlib.compressobj(9)
    exchange.begin(Content_Encoding="deflate")
    exchange.send(packer.compress(exchange.dialect.opening))
    while True:
        exchange.send(packer.compress(exchange.dialect.item * 100_000) or b"")


def _short_of_its_length(exchange: Exchange) -> None:
    _, body = exchange.dialect.page(1)
    exchange.begin(Content_Length=len(body) + 100, Connection="close")
    exchange.send(body)
    raise ConnectionAbortedError


def _longer_than_its_length(exchange: Exchange) -> None:
    _, body = exchange.dialect.page(1)
    exchange.begin(Content_Length=max(0, len(body) - 2))
    exchange.send(body)
    exchange.send_for_ever(b"HTTP/1.1 200 OK\r\n")


def _negative_length(exchange: Exchange) -> None:
    exchange.begin(Content_Length=-1)
    exchange.send_for_ever(exchange.dialect.item)


def _redirect_loop(exchange: Exchange) -> None:
    number = next(exchange.server.numbers)
    exchange.begin("302 Found", Content_Length=0, Location=f"{exchange.server.url}/{number}")


def _redirect_to_private_address(exchange: Exchange) -> None:
    # Another name of the same server, which no setting permits.
    location = f"http://localhost:{exchange.server.port}/private"
    exchange.begin("302 Found", Content_Length=0, Location=location)


def _garbage(exchange: Exchange) -> None:
    exchange.send_for_ever(bytes(range(256)))


def _garbage_body(exchange: Exchange) -> None:
    _whole(exchange, bytes(range(256)) * 1_000)


def _hang_up(exchange: Exchange) -> None:
    raise ConnectionAbortedError


def _endless_pages(exchange: Exchange) -> None:
    headers, body = exchange.dialect.page(next(exchange.server.numbers))
    _whole(exchange, body, **headers)


#: Does its harm to one connection.
Harm = Callable[[Exchange], None]

HOSTILITIES: Final[Mapping[str, Harm]] = {
    function.__name__.strip("_").replace("_", "-"): _answers(function)
    for function in (
        *(
            _endless_body,
            _endless_headers,
            _endless_promises,
            _endless_chunk_head,
            _endless_trickle_of_chunks,
        ),
        *(_slow_body, _slow_headers, _silence, _huge, _deep, _crumbs, _packed_crumbs, _packed_bomb),
        *(_short_of_its_length, _longer_than_its_length, _negative_length, _redirect_loop),
        *(_redirect_to_private_address, _garbage, _garbage_body, _hang_up, _endless_pages),
    )
}


@contextmanager
def serving(harm: Harm, dialect: Any = Dialect()) -> Iterator[HostileServer]:
    """Run a hostile server during the block."""
    with running(HostileServer(harm, dialect)) as server:
        yield server
