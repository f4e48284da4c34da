"""Duration of a mirror rebuild, and the latency of searches during it."""

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle

from kebab.identity.models import Workspace
from search.evaluation.results import Latencies
from search.mirror import local_mirrors
from search.mirror.sync.sync import rebuild_mirror
from search.models import Chunk
from tests.drills.bench.budgets.clients import Client
from tests.drills.bench.budgets.figures import Figure, missing_figure
from tests.drills.bench.budgets.search import stack_client

_CHUNKS = 100_000
_AT_MOST_S = 15.0
_PAUSE_S = 0.05
_NAME = "hybrid over HTTP while the mirror is rebuilt"


@dataclass(slots=True)
class _SearchLog:
    """Latencies and errors that a client observed during another operation."""

    seconds: list[float] = field(default_factory=list)
    degraded: int = 0
    error: BaseException | None = None


def rebuild_figures(workspace: Workspace, url: str, queries: Sequence[str]) -> list[Figure]:
    """Rebuild this node's mirror of the workspace while a client searches the stack at `url`, if any."""
    chunks = Chunk.objects.in_workspace(workspace).count()
    if not url:
        seconds = _rebuild_s(workspace)
        return [_figure(chunks, seconds), missing_figure(f"{_NAME}, p95", "no `kebab up` runs", unit="ms")]
    with stack_client(workspace, url) as client, searching_client(client, queries) as searches:
        seconds = _rebuild_s(workspace)
    if searches.error is not None:
        raise searches.error
    p95_ms = Latencies.of(searches.seconds).p95_ms
    note = f"{len(searches.seconds)} searches, {searches.degraded} without a whole leg"
    return [_figure(chunks, seconds), Figure(name=f"{_NAME}, p95", value=p95_ms, unit="ms", note=note)]


@contextmanager
def searching_client(client: Client, queries: Sequence[str]) -> Iterator[_SearchLog]:
    """Search in a loop with one client, at least once, while the block runs; record its error."""
    log, stop = _SearchLog(), threading.Event()

    def ask() -> None:
        connection = client.connect()
        try:
            for text in cycle(queries):
                seconds, body = client.ask(connection, text)
                log.seconds.append(seconds)
                log.degraded += bool(json.loads(body).get("degraded"))
                if stop.wait(_PAUSE_S):
                    break
        except BaseException as error:  # noqa: BLE001 - raised again in the waiting thread
            log.error = error
        finally:
            connection.close()

    thread = threading.Thread(target=ask, name="client")
    thread.start()
    try:
        yield log
    finally:
        stop.set()
        thread.join()


def _rebuild_s(workspace: Workspace) -> float:
    started = time.perf_counter()
    rebuild_mirror(local_mirrors.mirror_files(workspace.pk), workspace.pk)
    return time.perf_counter() - started


def _figure(chunks: int, seconds: float) -> Figure:
    return Figure(
        name=f"mirror rebuild, {_CHUNKS:,} chunks",
        value=seconds * _CHUNKS / max(1, chunks),
        unit="s",
        at_most=_AT_MOST_S,
        note=f"{chunks:,} chunks in {seconds:.2f} s",
    )
