"""The server that a command talks to: one named or logged in to, or the stack of this machine."""

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import BinaryIO, Literal
from urllib.parse import urlsplit

from kebab.cli.client.connection import Connection, Response
from kebab.cli.errors import CliError
from kebab.identity.operator_token import issue_operator_token, user_name
from kebab.locations import data_directory
from kebab.stack.servers import secrets
from kebab.stack.supervisor.state import StackState, running_state, stack_is_running

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


def find_connection() -> Connection | None:
    """Return the connection to a named server, or to the stack that runs here; None where none does."""
    address, token = os.environ.get("KEBAB_SERVER", "").strip(), os.environ.get("KEBAB_TOKEN", "").strip()
    if not address and not token:
        address, token = read_login()
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
    except FileNotFoundError:
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
    return split.scheme == "https" or split.hostname in {"127.0.0.1", "::1", "localhost"}
