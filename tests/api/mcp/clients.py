"""MCP clients: the SDK's own over HTTP and stdio, in both protocol eras, and a raw one over stdio."""

import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import anyio
import httpx2
from django.conf import settings
from django.db import connections
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.support.paths import ROOT

MANAGE = ROOT / "manage.py"
PATIENCE_S = 60.0
#: How a client says which version it speaks: it asks, or it begins with the handshake of 2025.
ERAS = ("auto", "legacy")

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Line:
    """A connection to the server: by address, or by a process that is started."""

    #: Where it serves over HTTP; '' for a process.
    url: str = ""
    secret: str
    era: str = "auto"
    environment: Mapping[str, str] | None = None
    #: What the process is started with behind `kebab mcp`.
    words: Sequence[str] = ()

    def use(self, work: Callable[[Client], Awaitable[Result]]) -> Result:
        """Connect, return the result of `work` with the client, and disconnect. Raises its MCPError."""

        async def connect_and_work() -> Result | MCPError:
            with anyio.fail_after(PATIENCE_S):
                async with self.client() as client:
                    try:
                        return await work(client)
                    except MCPError as error:  # raised here it would come in a group
                        return error

        found = anyio.run(connect_and_work)
        if isinstance(found, MCPError):
            raise found
        return found

    def call(self, name: str, **arguments: Any) -> Any:
        """Return the result of one call of a tool."""
        return self.use(lambda client: client.call_tool(name, arguments))

    def text(self, name: str, **arguments: Any) -> str:
        """Return the text of a tool's successful result."""
        result = self.call(name, **arguments)
        assert not result.is_error, text_of(result)
        return text_of(result)

    def data(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Return the structured content of a tool's successful result, which its text is too."""
        result = self.call(name, **arguments)
        assert not result.is_error, text_of(result)
        assert json.loads(text_of(result)) == result.structured_content
        return dict(result.structured_content)

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        """Return a connected client."""
        if not self.url:
            process = StdioServerParameters(
                command=sys.executable,
                args=[str(MANAGE), "mcp", *self.words],
                env=dict(self.environment or {}),
            )
            async with Client(process, mode=self.era, read_timeout_seconds=PATIENCE_S) as client:
                yield client
            return
        headers = {"Authorization": f"Bearer {self.secret}"}
        async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S) as http:
            transport = streamable_http_client(f"{self.url}/mcp", http_client=http)
            async with Client(transport, mode=self.era, read_timeout_seconds=PATIENCE_S) as client:
                yield client


@dataclass(frozen=True, kw_only=True)
class RawLine:
    """A process that is sent single messages, without a client that hides its responses."""

    process: "subprocess.Popen[str]"

    def send(self, method: str, **fields: Any) -> None:
        """Send a request, or, without an id, a notification."""
        print(json.dumps({"jsonrpc": "2.0", "method": method, **fields}), file=self.process.stdin, flush=True)

    def read_until(self, is_last: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
        """Return the messages up to the awaited one."""
        seen = []
        for line in self.process.stdout or ():
            seen.append(json.loads(line))
            if is_last(seen[-1]):
                return seen
        raise AssertionError(f"the process has ended; it said {seen}")


@contextmanager
def raw_line(environment: Mapping[str, str]) -> Iterator[RawLine]:
    """Start a process, and end it with the context or after a time limit."""
    words = [sys.executable, str(MANAGE), "mcp"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, env=dict(environment), stdin=pipe, stdout=pipe, text=True) as process:
        patience = threading.Timer(PATIENCE_S, process.kill)
        patience.start()
        try:
            yield RawLine(process=process)
        finally:
            patience.cancel()
            process.kill()


def text_of(result: Any) -> str:
    """Return the one text of a tool's result."""
    (content,) = result.content
    assert content.type == "text"
    return str(content.text)


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of a process that uses the test database and files in `folder`."""
    return {
        "DATABASE_URL": _database_url("default"),
        "KEBAB_OWNER_DATABASE_URL": _database_url("owner"),
        "REDIS_URL": settings.REDIS_URL,
        "KEBAB_SECRET_KEY": settings.SECRET_KEY,
        "KEBAB_ENCRYPTION_KEYS": ",".join(settings.KEBAB_ENCRYPTION_KEYS),
        "KEBAB_DATA_DIR": str(folder),
        "KEBAB_EMBEDDER": "hash",
        "KEBAB_LEG_LIMIT_MS": "60000",
        **more,
    }


def _database_url(alias: str) -> str:
    values = connections[alias].settings_dict
    host = "".join(f"%{byte:02x}" for byte in values["HOST"].encode())
    return f"postgresql://{values['USER']}@{host}:{values['PORT']}/{connections['default'].settings_dict['NAME']}"
