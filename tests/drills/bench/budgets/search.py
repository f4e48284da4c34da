"""Latency of searches in this process, and over HTTP with one client and with eight."""

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import transaction

from kebab.cli.errors import CliError
from kebab.identity.models import TokenScope, Workspace
from kebab.identity.reader import OPERATOR
from kebab.identity.tokens import mint_token
from kebab.people.token_lifecycle import mark_revoked
from search.api.query import make_query
from search.embedders.configured import clear_query_caches
from search.engine.search import search
from search.evaluation.results import Latencies
from search.models import Chunk
from search.retrieval.types import Mode
from tests.drills.bench.budgets.clients import CLIENTS, Client, ClientRequest, ask_at_once
from tests.drills.bench.budgets.figures import Figure, latency_figures, value_of

_SEED = 1
#: Queries that are sent before any is measured.
WARM_UP = 10
_SEPARATOR = " > "
# Median and 95th percentile, in milliseconds.
_BUDGETS = {Mode.LEXICAL: (8.0, 25.0), Mode.HYBRID: (10.0, 30.0)}
_HTTP_ON_TOP_MS = 4.0
_HTTP_P95_MS = 45.0
_CROWD_RATE = 150.0
_CROWD_P95_MS = 120.0


def heading_queries(workspace: Workspace, number: int) -> list[str]:
    """Return the last headings of up to `number` breadcrumbs, drawn by a fixed seed."""
    breadcrumbs = set(Chunk.objects.in_workspace(workspace).values_list("breadcrumb", flat=True))
    headings = sorted({breadcrumb.rpartition(_SEPARATOR)[2] for breadcrumb in breadcrumbs} - {""})
    if not headings:
        raise CliError(
            "The folder gave no chunk with a heading to ask for; bench another one.", code="no_queries"
        )
    return random.Random(_SEED).sample(headings, min(number, len(headings)))


def in_process_figures(workspace: Workspace, queries: Sequence[str]) -> list[Figure]:
    """Measure each query in each mode, one after the other, with full hits; each mode embeds its queries."""
    figures = []
    for mode in Mode:
        p50, p95 = _BUDGETS.get(mode, (None, None))
        figures += latency_figures(
            f"{mode} in-process", search_all(workspace, queries, mode), p50=p50, p95=p95
        )
    return figures


def search_all(workspace: Workspace, queries: Sequence[str], mode: Mode) -> list[float]:
    """Return the seconds of each query, after a few to warm up."""
    for text in queries[:WARM_UP]:
        search_s(workspace, text, mode)
    clear_query_caches()  # else the queries would be in the cache of embeddings from the mode before
    return [search_s(workspace, text, mode) for text in queries]


def search_s(workspace: Workspace, text: str, mode: Mode) -> float:
    """Return the seconds of one search: the first page, with the API's defaults."""
    started = time.perf_counter()
    search(workspace, make_query(workspace, {"q": text, "mode": mode.value}, {}), reader=OPERATOR)
    return time.perf_counter() - started


@contextmanager
def stack_client(workspace: Workspace, url: str) -> Iterator[Client]:
    """Yield a client of the stack in hybrid mode, with a token of its own."""
    path = f"/api/v1/workspaces/{workspace.slug}/search"
    with search_token(workspace) as secret:
        yield Client(
            name="The stack",
            url=url,
            request=lambda text: ClientRequest(path=path, body={"q": text}),
            headers={"Authorization": f"Bearer {secret}"},
        )


@contextmanager
def search_token(workspace: Workspace) -> Iterator[str]:
    """Yield a token for searches, which is revoked after the block."""
    token, secret = mint_token(workspace, scopes=[TokenScope.SEARCH], name="bench")
    try:
        yield secret
    finally:
        with transaction.atomic():
            mark_revoked(token)


def http_figures(
    workspace: Workspace,
    url: str,
    queries: Sequence[str],
    *,
    unseen: Sequence[str] = (),
    in_process: Sequence[Figure] = (),
) -> list[Figure]:
    """Measure searches over HTTP in hybrid mode, with one client and with several.

    Several clients send `unseen`, if given, which the server has not embedded yet. The budget of a request
    is on top of that of the figures `in_process`.
    """
    base_ms = value_of(in_process, f"{Mode.HYBRID} in-process, p50")
    with stack_client(workspace, url) as client:
        client.ask_all(queries[:WARM_UP])
        alone = client.ask_all(queries)
        return [
            *latency_figures(
                "hybrid over HTTP, 1 client",
                alone,
                p50=None if base_ms is None else base_ms + _HTTP_ON_TOP_MS,
                p95=_HTTP_P95_MS,
                rule="in-process + 4",
            ),
            *_crowd_figures(client, unseen or queries),
        ]


def _crowd_figures(client: Client, queries: Sequence[str]) -> list[Figure]:
    crowd = ask_at_once(client, queries)
    name = f"hybrid over HTTP, {CLIENTS} clients"
    p95_ms = Latencies.of(crowd.seconds).p95_ms
    return [
        Figure(name=name, value=crowd.rate, unit="requests/s", at_least=_CROWD_RATE),
        Figure(name=f"{name}, p95", value=p95_ms, unit="ms", at_most=_CROWD_P95_MS),
    ]
