"""Requests to a server over HTTP or HTTPS."""

from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import BinaryIO
from urllib.parse import urlsplit

from kebab.cli.client.connection import Response
from kebab.cli.errors import CliError

# An answer of a language model may take minutes.
_LIMIT_S = 600.0


class HttpTransport:
    """The way to the server at an address such as `https://search.example.org`."""

    def __init__(self, address: str) -> None:
        """Raise CliError for an address that is no HTTP one."""
        split = urlsplit(address)
        if split.scheme not in {"http", "https"} or not split.hostname or split.username or split.query:
            raise CliError(f"{address[:200]!r} is not the address of a server; give https://HOST[:PORT].")
        self.address = address.rstrip("/")
        self._base = split.path.rstrip("/")
        self._open = HTTPSConnection if split.scheme == "https" else HTTPConnection
        self._host, self._port = split.hostname, split.port
        self._connection: HTTPConnection | None = None

    def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes | BinaryIO) -> Response:
        """Send a request. Raises CliError if no server answers."""
        if self._connection is None:
            self._connection = self._open(self._host, self._port, timeout=_LIMIT_S)
        try:
            self._connection.request(method, self._base + path, body=body or None, headers=dict(headers))
            answer = self._connection.getresponse()
        except (OSError, HTTPException) as error:
            self._connection.close()
            raise CliError(f"{self.address} doesn't answer ({error}).", code="no_server") from error
        return Response(status=answer.status, body=answer)
