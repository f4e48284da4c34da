"""MCP over standard input and output, for the one client that started this process."""

from collections.abc import Callable, Sequence

import anyio
from mcp.server.stdio import stdio_server

from kebab.identity.caller import Access
from search.mcp.server import mcp_server


def serve_stdio(admit: Callable[[], Sequence[Access]]) -> None:
    """Serve until the client closes the input. Each request has the accesses that `admit` returns for it."""
    anyio.run(_serve, admit)


async def _serve(admit: Callable[[], Sequence[Access]]) -> None:
    server = mcp_server(lambda context: admit())
    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())
