"""Crowds of clients, and clients whose requests cost much; they send from a process of their own."""

import base64
import json
import subprocess
import sys
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Any

from tests.drills.front_door.target import Attack, Target
from tests.support.paths import ROOT

_CROWD = 120
_FEW = 8
_QUERY = "wombat comet river bridge"
# Each unfolds to 18 letters and blanks.
_UNFOLDING = "\ufdfa" * 300
_ELSEWHERE = "127.0.0.9"


def crowd_on_search(target: Target, stack: ExitStack) -> None:
    """Search a workspace by 120 clients."""
    _post(target, stack, f"workspaces/{target.workspace}/search", {"q": _QUERY})


def crowd_on_dify(target: Target, stack: ExitStack) -> None:
    """Search as Dify does by 120 clients."""
    _post(target, stack, "dify/retrieval", {"knowledge_id": target.workspace, "query": _QUERY})


def crowd_on_openai(target: Target, stack: ExitStack) -> None:
    """Search as OpenAI's clients do by 120 clients."""
    _post(target, stack, f"openai/vector_stores/{target.workspace}/search", {"query": _QUERY})


def crowd_on_several(target: Target, stack: ExitStack) -> None:
    """Search over several workspaces by 120 clients."""
    _post(target, stack, "search", {"q": _QUERY})


def crowd_on_mcp(target: Target, stack: ExitStack) -> None:
    """Call the search tool of MCP by 120 clients."""
    arguments = {"name": "search", "arguments": {"query": _QUERY}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": arguments}
    kinds = "Accept: application/json, text/event-stream"
    _send_from(target, stack, target.request("/mcp", kinds, method="POST", body=json.dumps(body).encode()))


def crowd_on_login(target: Target, stack: ExitStack) -> None:
    """Open the log-in page by 120 clients at another address."""
    elsewhere = replace(target, token="", source=_ELSEWHERE)
    _send_from(elsewhere, stack, elsewhere.request("/login"))


def heavy_bulk(target: Target, stack: ExitStack) -> None:
    """Send bulks of 100 searches for fifty words each."""
    words = " ".join(f"word{number} wombat" for number in range(25))
    queries = [{"q": f"{words} {number}", "k": 50} for number in range(100)]
    _post(target, stack, f"workspaces/{target.workspace}/search/bulk", {"queries": queries}, clients=_FEW)


def unfolding_queries(target: Target, stack: ExitStack) -> None:
    """Search for 300 characters that unfold to 18 each."""
    _post(target, stack, f"workspaces/{target.workspace}/search", {"q": _UNFOLDING}, clients=_FEW)


def _post(target: Target, stack: ExitStack, path: str, body: Any, *, clients: int = _CROWD) -> None:
    encoded = json.dumps(body).encode()
    _send_from(target, stack, target.request(f"/api/v1/{path}", method="POST", body=encoded), clients)


def _send_from(target: Target, stack: ExitStack, request: bytes, clients: int = _CROWD) -> None:
    """Send a request again and again by `clients`, until the attack ends."""
    arguments = (str(target.port), target.source, str(clients))
    command = [sys.executable, "-m", "tests.drills.front_door.crowd", *arguments]
    crowd = subprocess.Popen(command, stdin=subprocess.PIPE, cwd=ROOT)
    stack.callback(crowd.wait)
    assert crowd.stdin is not None
    stack.enter_context(closing(crowd.stdin))
    crowd.stdin.write(base64.b64encode(request) + b"\n")
    crowd.stdin.flush()


CROWD_ATTACKS: tuple[Attack, ...] = (
    crowd_on_search,
    crowd_on_dify,
    crowd_on_openai,
    crowd_on_several,
    crowd_on_mcp,
    crowd_on_login,
    heavy_bulk,
    unfolding_queries,
)
