"""Latency of a search over MCP, compared with the HTTP API."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from kebab.identity.models import Workspace
from search.evaluation.results import Latencies
from tests.drills.bench.budgets.clients import ClientRequest
from tests.drills.bench.budgets.figures import Figure
from tests.drills.bench.budgets.search import stack_client

_VERSION: Final = "2026-07-28"
_MOST_TIMES: Final = 1.3
_WARM_UP: Final = 10


def mcp_figure(workspace: Workspace, url: str, queries: Sequence[str]) -> Figure:
    """Return the median of `queries` over MCP; its budget is relative to the API's, in the same minute.

    The queries have been searched before, so that neither measurement includes their embedding.
    """
    with stack_client(workspace, url) as client:
        agent = replace(client, name="MCP", request=_search, headers={**client.headers, **_headers()})
        agent.ask_all(queries[:_WARM_UP])
        http_ms = Latencies.of(client.ask_all(queries)).p50_ms
        mcp_ms = Latencies.of(agent.ask_all(queries)).p50_ms
    return Figure(
        name="search over MCP, 1 client, p50",
        value=mcp_ms,
        unit="ms",
        at_most=_MOST_TIMES * http_ms,
        rule=f"{_MOST_TIMES} × over HTTP",
    )


def _search(text: str) -> ClientRequest:
    named = {
        "io.modelcontextprotocol/protocolVersion": _VERSION,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": "search", "arguments": {"query": text}, "_meta": named}
    return ClientRequest(
        path="/mcp", body={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    )


def _headers() -> dict[str, str]:
    return {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": _VERSION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "search",
    }
