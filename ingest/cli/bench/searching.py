"""How long searches take: in this process, and over HTTP with one client and with eight."""

import http.client
import json
import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.db import transaction

from ingest.cli.bench.figures import Figure, Latencies, latency_figures
from kebab.cli.errors import CliError
from kebab.people.models import Scope, Workspace
from kebab.people.reader import OPERATOR
from kebab.people.revocation import revoke_token
from kebab.people.tokens import mint_token
from search.api.query import make_query
from search.engine import search
from search.models import Chunk
from search.retrieval.types import Mode

_SEED = 1
_WARM_UP = 10
_CLIENTS = 8
_SEPARATOR = " > "
_BUDGETS = {Mode.LEXICAL: ("at most 8", "at most 25"), Mode.HYBRID: ("at most 10", "at most 30")}


def heading_queries(workspace: Workspace, number: int) -> list[str]:
    """Give the last headings of up to `number` breadcrumbs, drawn by a fixed seed."""
    breadcrumbs = set(Chunk.objects.in_workspace(workspace).values_list("breadcrumb", flat=True))
    headings = sorted({breadcrumb.rpartition(_SEPARATOR)[2] for breadcrumb in breadcrumbs} - {""})
    if not headings:
        raise CliError(
            "The folder gave no chunk with a heading to ask for; bench another one.", code="no_queries"
        )
    return random.Random(_SEED).sample(headings, min(number, len(headings)))  # noqa: S311 - not a secret


def in_process_figures(workspace: Workspace, queries: Sequence[str]) -> list[Figure]:
    """Search for each query in each mode, full hits, one after the other."""
    figures = []
    for mode in Mode:
        p50, p95 = _BUDGETS.get(mode, ("", ""))
        for text in queries[:_WARM_UP]:
            _search_s(workspace, text, mode)
        seconds = [_search_s(workspace, text, mode) for text in queries]
        figures += latency_figures(f"{mode} in-process", seconds, p50=p50, p95=p95)
    return figures


def _search_s(workspace: Workspace, text: str, mode: Mode) -> float:
    started = time.perf_counter()
    search(workspace, make_query(workspace, {"q": text, "mode": mode.value}, {}), reader=OPERATOR)
    return time.perf_counter() - started


def http_figures(workspace: Workspace, url: str, queries: Sequence[str]) -> list[Figure]:
    """Search over HTTP with a token of its own, which is revoked after, in hybrid mode."""
    token, secret = mint_token(workspace, scopes=[Scope.SEARCH], name="bench")
    try:
        client = _Client(url=url, path=f"/api/v1/workspaces/{workspace.slug}/search", token=secret)
        client.ask_all(queries[:_WARM_UP])
        alone = client.ask_all(queries)
        return [
            *latency_figures("hybrid over HTTP, 1 client", alone, p50="in-process + 4", p95="at most 45"),
            *_crowd_figures(client, queries),
        ]
    finally:
        with transaction.atomic():
            revoke_token(token)


def _crowd_figures(client: "_Client", queries: Sequence[str]) -> list[Figure]:
    shares = [queries[number::_CLIENTS] for number in range(_CLIENTS)]
    started = time.perf_counter()
    with ThreadPoolExecutor(_CLIENTS, thread_name_prefix="client") as executor:
        seconds = [each for share in executor.map(client.ask_all, shares) for each in share]
    rate = len(seconds) / (time.perf_counter() - started)
    return [
        Figure(
            name=f"hybrid over HTTP, {_CLIENTS} clients", value=rate, unit="requests/s", budget="at least 150"
        ),
        Figure(
            name=f"hybrid over HTTP, {_CLIENTS} clients, p95",
            value=Latencies.of(seconds).p95_ms,
            unit="ms",
            budget="at most 120",
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Client:
    """Asks the API of a running stack; every call of `ask_all` has a connection of its own."""

    url: str
    path: str
    token: str

    def ask_all(self, queries: Sequence[str]) -> list[float]:
        """Ask one query after the other, on one connection that is kept; give the seconds of each."""
        address = urlsplit(self.url)
        connection = http.client.HTTPConnection(address.hostname or "127.0.0.1", address.port, timeout=30)
        try:
            return [self._ask(connection, text) for text in queries]
        finally:
            connection.close()

    def _ask(self, connection: http.client.HTTPConnection, text: str) -> float:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        started = time.perf_counter()
        connection.request("POST", self.path, json.dumps({"q": text}), headers)
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != http.client.OK:
            said = body[:200].decode("utf-8", "replace")
            raise CliError(f"The stack answered a search with {answer.status}: {said}", code="bench_failed")
        return time.perf_counter() - started
