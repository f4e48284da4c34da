"""The connection of a command to a server: requests to its HTTP API, and problems as errors of commands."""

import json
import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol
from urllib.parse import urlencode, urlsplit

from kebab.cli.errors import CliError
from kebab.exit_codes import Exit
from kebab.identity.operator_token import issue_operator_token, user_name
from kebab.locations import data_directory
from kebab.stack.servers import secrets
from kebab.stack.supervisor.state import StackState, running_state, stack_is_running

_API = "/api/v1"
_LOOPBACK = {"127.0.0.1", "::1", "localhost"}
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
        for page in self.pages(path, limit, **query):
            yield from page["results"]

    def pages(self, path: str, limit: int, /, **query: Any) -> Iterator[dict[str, Any]]:
        """Yield the pages with the first `limit` rows of a list. Raises CliError for another document."""
        cursor = None
        while limit > 0:
            page = self.get(path, limit=min(limit, _PAGE_ROWS), cursor=cursor, **query)
            if "results" not in page:
                raise CliError(f"{path[:100]!r} is not answered in pages; ask for it as a whole.")
            yield page
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


#: What is started beside a command where no stack runs: the servers, or also the workers, or nothing.
Needs = Literal["servers", "workers", "running"]

# As long as a first start may take.
_START_LIMIT_S = 120.0
_POLL_S = 0.05


@contextmanager
def connect(needs: Needs | None) -> Iterator[Connection | None]:
    """Yield the connection to the server that the environment or `kebab login` names, or to this machine's.

    Where no stack runs on this machine, its servers are started for the block, and answer in this process;
    if the command needs a running stack, it gets None. Raises CliError.
    """
    if needs is None:
        yield None
        return
    found = find_connection()
    if found is not None or (needs == "running" and not os.environ.get("DATABASE_URL", "").strip()):
        yield found
        return
    from kebab.cli.in_process import connect_in_process  # imports Django

    with connect_in_process(needs) as connection:
        yield connection


def named_server() -> tuple[str, str]:
    """Return address and token that the environment or a login names, '' without one. Raises CliError."""
    address, token = os.environ.get("KEBAB_SERVER", "").strip(), os.environ.get("KEBAB_TOKEN", "").strip()
    return (address, token) if address or token else read_login()


def find_connection() -> Connection | None:
    """Return the connection to a named server, or to the stack that runs here; None where none does."""
    address, token = named_server()
    if address and not token:
        raise CliError(f"KEBAB_SERVER is {address[:200]}, but KEBAB_TOKEN is not set: run kebab login.")
    if address:
        return Connection(transport=HttpTransport(address), token=lambda: token)
    state = _await_stack()
    if state is None:
        return None
    return Connection(
        transport=HttpTransport(state.url),
        # That of the operator is signed for each request, since it is valid for minutes.
        token=(lambda: token) if token else operator_token,
        is_local=not token,
    )


def _await_stack() -> StackState | None:
    """Return the state of the stack of this machine once it serves; None where none runs.

    Raises CliError for one that takes too long to start.
    """
    directory = data_directory()
    deadline = time.monotonic() + _START_LIMIT_S
    while stack_is_running(directory):
        state = running_state(directory)
        if state is not None and not state.url:  # the servers of another command
            return None
        if state is not None and state.is_ready:
            return state
        if time.monotonic() > deadline:
            raise CliError(f"The stack on {directory} has not come up; see its output.", code="stack_busy")
        time.sleep(_POLL_S)
    return None


def operator_token() -> str:
    """Return a token of the user of this machine, who can read the server's secret."""
    secret = os.environ.get("KEBAB_SECRET_KEY", "").strip()
    return issue_operator_token(secret or secrets.load_or_create(data_directory()).secret_key, user_name())


def login_file() -> Path:
    """Return the file of the server that `kebab login` has stored."""
    configured = os.environ.get("XDG_CONFIG_HOME", "").strip()
    return (Path(configured) if configured else Path.home() / ".config") / "kebab" / "login.json"


def read_login() -> tuple[str, str]:
    """Return address and token of the stored login; both empty without one. Raises CliError."""
    try:
        stored = json.loads(login_file().read_text(encoding="utf-8"))
        return str(stored["server"]), str(stored["token"])
    except (FileNotFoundError, PermissionError, RuntimeError):  # no file, another user's, or no home
        return "", ""
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CliError(f"{login_file()} can't be read; run kebab login again.") from error


def write_login(address: str, token: str) -> None:
    """Store a login, for this user alone."""
    file = login_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600)
    file.chmod(0o600)
    file.write_text(json.dumps({"server": address, "token": token}) + "\n", encoding="utf-8")


def is_secure(address: str) -> bool:
    """Return whether a token isn't sent in the clear: over HTTPS, or within this machine."""
    split = urlsplit(address)
    return split.scheme == "https" or split.hostname in _LOOPBACK


def origin(address: str) -> tuple[str, int]:
    """Return host and port of an address; every name of this machine's own interface is `localhost`."""
    split = urlsplit(address)
    host = "localhost" if split.hostname in _LOOPBACK else split.hostname or ""
    return host, split.port or (443 if split.scheme == "https" else 80)
