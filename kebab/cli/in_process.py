"""Requests of a command that this process answers itself, where no stack runs."""

import io
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any, BinaryIO

from kebab.cli.client.connection import Connection, Response
from kebab.cli.client.servers import Needs, operator_token


class InProcessTransport:
    """The way to the views of this process, which run as for a request to a server."""

    def __init__(self) -> None:
        from kebab.http.handlers import TokenRequestHandler

        self._handler = TokenRequestHandler()

    def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes | BinaryIO) -> Response:
        """Answer a request."""
        content = body if isinstance(body, bytes) else body.read()
        path, _, query = path.partition("?")
        environ: dict[str, Any] = {
            "REQUEST_METHOD": method,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "CONTENT_LENGTH": str(len(content)),
            "CONTENT_TYPE": headers.get("Content-Type", ""),
            "wsgi.input": io.BytesIO(content),
            "wsgi.errors": sys.stderr,
            "wsgi.url_scheme": "http",
            **{f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()},
        }
        statuses: list[str] = []

        def start(status: str, *_: Any) -> Any:
            statuses.append(status)

        answer = self._handler(environ, start)
        return Response(status=int(statuses[0].split()[0]), body=io.BytesIO(b"".join(answer)))


@contextmanager
def connect_in_process(needs: Needs) -> Iterator[Connection]:
    """Yield a connection to this process; what it needs runs during the block. Raises StackError."""
    import django

    django.setup()
    from kebab.runtime.shutdown import run_callbacks_at_end
    from kebab.stack.servers.borrowed_servers import borrow_stack
    from kebab.stack.supervisor.plan import Roles

    roles = {"servers": Roles.SERVERS, "workers": Roles.WORKERS}
    borrowed = borrow_stack(roles[needs]) if needs != "running" else nullcontext()
    with borrowed, run_callbacks_at_end():
        yield Connection(
            transport=InProcessTransport(), authorization=f"Bearer {operator_token()}", is_local=True
        )
