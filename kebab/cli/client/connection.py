"""The connection of a command to a server: requests to its HTTP API, and problems as errors of commands."""

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol
from urllib.parse import urlencode

from kebab.cli.errors import CliError
from kebab.exit_codes import Exit

_API = "/api/v1"
_PAGE_ROWS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A response, whose body is read as it arrives."""

    status: int
    body: BinaryIO

    def document(self) -> Any:
        """Return the JSON document of the body; None without one. Raises CliError for another body."""
        content = self.body.read()
        try:
            return json.loads(content) if content else None
        except ValueError as error:
            start = content[:80].decode(errors="replace")
            raise CliError(f"The server answered {self.status} without JSON: {start}") from error


class Transport(Protocol):
    """The way of requests to a server."""

    def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes | BinaryIO) -> Response:
        """Send a request. Raises CliError if no server answers."""


class ApiProblem(CliError):
    """The server refused a request; `fields` has what is wrong by field."""

    def __init__(self, status: int, document: Mapping[str, Any]) -> None:
        self.status = status
        self.fields = [
            {"field": each["field"], "message": each["message"]} for each in document.get("errors") or ()
        ]
        message = document.get("detail") or document.get("title") or f"The server answered {status}."
        exit_code = Exit.NOTHING if status == 404 else Exit.ERROR
        super().__init__(message, code=document.get("code", "http_error"), exit_code=exit_code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """The API of a server, as the caller may use it."""

    transport: Transport
    #: Returns the token that a request is sent with.
    token: Callable[[], str]
    #: Whether the caller is this machine's operator, whose folders the server reads.
    is_local: bool = False

    def get(self, path: str, /, **query: Any) -> Any:
        """Return a document; parameters that are None are left out."""
        given = urlencode({name: value for name, value in query.items() if value is not None}, doseq=True)
        return self.request("GET", f"{path}{'&' if '?' in path else '?'}{given}" if given else path)

    def post(self, path: str, body: Any = None) -> Any:
        """Post a JSON body, and return the document of the answer."""
        return self.request("POST", path, body)

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request below `/api/v1`, with a JSON body unless it is None, and return the document."""
        sent = b"" if body is None else json.dumps(body).encode()
        return self.send(method, path, sent, "application/json").document()

    def send(
        self, method: str, path: str, body: bytes | BinaryIO, content_type: str, **headers: str
    ) -> Response:
        """Send a request below `/api/v1`. Raises ApiProblem for a status of 400 or more."""
        given = {"Authorization": f"Bearer {self.token()}", "Accept": "application/json", **headers}
        if body:
            given["Content-Type"] = content_type
        response = self.transport.send(method, _API + path, given, body)
        if response.status >= 400:
            raise ApiProblem(response.status, response.document() or {})
        return response

    def rows(self, path: str, limit: int, /, **query: Any) -> Iterator[dict[str, Any]]:
        """Yield up to `limit` rows of a list that comes in pages. Raises CliError for another document."""
        cursor = None
        while limit > 0:
            page = self.get(path, limit=min(limit, _PAGE_ROWS), cursor=cursor, **query)
            if "results" not in page:
                raise CliError(f"{path[:100]!r} is not answered in pages; ask for it as a whole.")
            yield from page["results"]
            limit, cursor = limit - len(page["results"]), page["next_cursor"]
            if cursor is None:
                return

    def upload(self, path: str, file: Path, fields: Mapping[str, Any]) -> Any:
        """Send a file with fields as a form, and return the document of the answer."""
        boundary = uuid.uuid4().hex
        parts = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, values in fields.items()
            for value in (values if isinstance(values, (list, tuple)) else (values,))
        ]
        name = file.name.translate({ord('"'): "%22", ord("\r"): "%0D", ord("\n"): "%0A"})
        parts.append(
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n"
        )
        head, tail = "".join(parts).encode(), f"\r\n--{boundary}--\r\n".encode()
        with file.open("rb") as opened:
            body = _Joined([head, opened, tail], len(head) + file.stat().st_size + len(tail))
            response = self.send(
                "POST",
                path,
                body,  # type: ignore[arg-type]  # read alone is used
                f"multipart/form-data; boundary={boundary}",
                **{"Content-Length": str(body.size_bytes)},
            )
            return response.document()


class _Joined:
    """A body made of parts, read one after the other."""

    def __init__(self, parts: list[bytes | BinaryIO], size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self._parts = parts

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes, all with -1; none at the end."""
        found = b""
        while self._parts and (size < 0 or not found):
            part = self._parts[0]
            if isinstance(part, bytes):
                piece, self._parts[0] = (part, b"") if size < 0 else (part[:size], part[size:])
            else:
                piece = part.read(size)
            if not piece:
                self._parts.pop(0)
            found += piece
        return found
