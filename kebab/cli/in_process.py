"""Requests of a command that this process answers itself, where no stack runs."""

import io
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from typing import Any, BinaryIO
from urllib.parse import unquote_to_bytes, urlsplit

from asgiref.sync import async_to_sync

from kebab.cli.client.connection import Connection, Response
from kebab.identity.operator_token import issue_operator_token, user_name


class InProcessTransport:
    """The way to the views of this process, which run as for a request to a server."""

    def __init__(self) -> None:
        from kebab.http.handlers import TokenRequestHandler
        from kebab.stack.configuration import StackConfiguration

        self._handler = TokenRequestHandler()
        # What links lead to, unless KEBAB_URL says it.
        self._site = urlsplit(StackConfiguration.from_settings().url)

    def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes | BinaryIO) -> Response:
        """Answer a request."""
        from django.core.handlers.wsgi import WSGIRequest

        content = body if isinstance(body, bytes) else body.read()
        path, _, query = path.partition("?")
        environ: dict[str, Any] = {
            "REQUEST_METHOD": method,
            "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
            "QUERY_STRING": query,
            "SERVER_NAME": self._site.hostname,
            "SERVER_PORT": str(self._site.port),
            "HTTP_HOST": self._site.netloc,
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "CONTENT_LENGTH": str(len(content)),
            "CONTENT_TYPE": headers.get("Content-Type", ""),
            "wsgi.input": io.BytesIO(content),
            "wsgi.errors": sys.stderr,
            "wsgi.url_scheme": "http",
            **{f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()},
        }
        # Without the signals of a server's request, which close the connection to the database.
        with closing(WSGIRequest(environ)) as request:
            answer = self._handler.get_response(request)
            return Response(status=answer.status_code, body=io.BytesIO(_content(answer)))


def _content(answer: Any) -> bytes:
    """Return the whole content of a response, streamed or not."""
    if not getattr(answer, "is_async", False):
        return b"".join(answer)

    async def collect() -> bytes:
        return b"".join([piece async for piece in answer])

    return async_to_sync(collect)()


def this_process() -> Connection:
    """Return the connection to the views of this process, as this machine's user."""
    from django.conf import settings

    return Connection(
        transport=InProcessTransport(),
        token=lambda: issue_operator_token(settings.SECRET_KEY, user_name()),
        is_local=True,
    )


@contextmanager
def connect_in_process(needs: str) -> Iterator[Connection]:
    """Yield a connection to this process; what it needs, see `Roles`, runs during the block.

    With "running" nothing is started. Raises StackError.
    """
    import django

    django.setup()
    from kebab.observability.shutdown import run_callbacks_at_end
    from kebab.stack.servers.borrowed_servers import borrow_stack
    from kebab.stack.supervisor.plan import Roles

    borrowed = borrow_stack(Roles(needs)) if needs != "running" else nullcontext()
    with borrowed, run_callbacks_at_end():
        yield this_process()
