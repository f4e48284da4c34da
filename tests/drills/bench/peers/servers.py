"""Throughput over HTTP of Kebab and the peers' own servers, with the same eight clients, by turns."""

import json
import shutil
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import numpy as np
from django.conf import settings

from kebab.cli.errors import CliError
from kebab.identity.models import Workspace
from kebab.stack.supervisor.child import Child, ChildPlan, log_tail
from search.evaluation.results import Latencies
from tests.drills.bench.budgets.clients import CLIENTS, Client, ClientRequest, Crowd, ask_at_once
from tests.drills.bench.budgets.demo_start import free_port
from tests.drills.bench.budgets.search import stack_client
from tests.drills.bench.peers.corpus import Corpus
from tests.drills.bench.peers.registry import installed_version

_TOP = 10
_ROUNDS = 4
_READY_LIMIT_S = 180.0
_POLL_S = 0.2
_STOP_LIMIT_S = 10.0
_WARM_UP = 16
_CHROMA_API = "/api/v2/tenants/default_tenant/databases/default_database/collections"

#: Query vectors, (dim,) float32 of length 1, by query.
Queries = Mapping[str, np.ndarray]


@contextmanager
def chroma_server(corpus: Corpus, queries: Queries, folder: Path) -> Iterator[Client]:
    """Run `chroma run` over the corpus; a request has the query's vector and returns ids and texts."""
    import chromadb

    from tests.drills.bench.peers.chroma_collection import fill

    port = free_port()
    program = (sys.executable, "-c", "from chromadb.cli.cli import app; app()", "run")
    where = ("--path", str(folder / "data"), "--host", "127.0.0.1", "--port", str(port))
    with _serving("chroma", (*program, *where), folder, port, "/api/v2/heartbeat") as url:
        collection = fill(chromadb.HttpClient(host="127.0.0.1", port=port), corpus)
        path = f"{_CHROMA_API}/{collection.id}/query"
        yield Client(
            name="Chroma",
            url=url,
            request=lambda text: ClientRequest(path=path, body=_chroma_body(queries[text])),
        )


def _chroma_body(vector: np.ndarray) -> dict[str, Any]:
    return {"query_embeddings": [vector.tolist()], "n_results": _TOP, "include": ["documents", "distances"]}


@contextmanager
def txtai_server(corpus: Corpus, queries: Queries, folder: Path) -> Iterator[Client]:
    """Run `txtai.api` over a hybrid index of the corpus; it looks up the query's vector and returns ids."""
    from tests.drills.bench.peers import txtai_index
    from tests.drills.bench.peers import txtai_server as txtai_serving

    index = txtai_index.build_index(corpus, {})
    index.save(str(folder / "index"))
    index.close()
    txtai_serving.write_configuration(folder, queries)
    port = free_port()
    program = (sys.executable, "-m", txtai_serving.__name__, str(folder), str(port))
    with _serving("txtai", program, folder, port, "/count") as url:
        yield Client(
            name="txtai",
            url=url,
            request=lambda text: ClientRequest(path=f"/search?query={quote(text, safe='')}&limit={_TOP}"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerServer:
    """A peer's own server."""

    name: str
    package: str
    #: Further distributions that its server needs.
    more: tuple[str, ...] = ()
    open_index: Callable[[Corpus, Queries, Path], Any]
    note: str

    @property
    def missing(self) -> str | None:
        """Return a message about missing packages, None when it can be run."""
        lacking = [each for each in (self.package, *self.more) if installed_version(each) is None]
        return f"{', '.join(lacking)} not installed (deploy/requirements-peers.txt)" if lacking else None

    @property
    def label(self) -> str:
        """Return its name with the version of its package."""
        return f"{self.name} {installed_version(self.package)}"


SERVERS: Final = (
    PeerServer(
        name="Chroma",
        package="chromadb",
        open_index=chroma_server,
        note="chroma run, by vector alone; vector given, ids and texts",
    ),
    PeerServer(
        name="txtai",
        package="txtai",
        more=("faiss-cpu", "fastapi", "fastapi-mcp"),
        open_index=txtai_server,
        note="txtai.api on uvicorn, one process, hybrid; vector looked up, ids and scores",
    ),
)


def throughput_rows(
    workspace: Workspace,
    url: str,
    corpus: Corpus,
    queries: Queries,
    servers: Sequence[PeerServer],
    say: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Return requests per second and p95 of the stack at `url` and of each server, with their ratios."""
    with ExitStack() as stack, tempfile.TemporaryDirectory(prefix="kebab-peers-") as folder:
        clients = {"Kebab": stack.enter_context(stack_client(workspace, url))}
        for server in servers:
            say(f"Starting the server of {server.label} ...")
            own = Path(folder) / server.name.lower()
            own.mkdir()
            clients[server.label] = stack.enter_context(server.open_index(corpus, queries, own))
        say(f"Asking with {CLIENTS} clients by turns ...")
        crowds = crowds_by_turns(clients, list(queries))
    notes = {server.label: server.note for server in servers}
    return [_row(name, crowd, crowds["Kebab"], notes.get(name, "")) for name, crowd in crowds.items()]


def crowds_by_turns(clients: Mapping[str, Client], queries: Sequence[str]) -> dict[str, Crowd]:
    """Send parts of the queries to each server in turn, in several rounds."""
    for client in clients.values():
        ask_at_once(client, queries[:_WARM_UP])
    parts = [part for number in range(_ROUNDS) if (part := queries[_WARM_UP:][number::_ROUNDS])]
    rounds = [{name: ask_at_once(client, part) for name, client in clients.items()} for part in parts]
    return {
        name: Crowd(
            seconds=[each for found in rounds for each in found[name].seconds],
            wall_s=sum(found[name].wall_s for found in rounds),
        )
        for name in clients
    }


def _row(name: str, crowd: Crowd, own: Crowd, note: str) -> dict[str, Any]:
    found = Latencies.of(crowd.seconds)
    return {
        "group": "http",
        "system": name,
        "requests_per_s": round(crowd.rate, 1),
        "p95_ms": round(found.p95_ms, 3),
        "rate_ratio": round(own.rate / crowd.rate, 3),
        "note": note or "token checked, embeds the query, whole hits, hybrid",
    }


@contextmanager
def _serving(name: str, command: tuple[str, ...], folder: Path, port: int, probe: str) -> Iterator[str]:
    """Run a server that ends at the latest with this process, and yield its address once it answers."""
    url, log = f"http://127.0.0.1:{port}", folder / "server.log"
    child = Child(ChildPlan(name=name, command=command, log=log, folder=settings.BASE_DIR))
    child.spawn()
    try:
        deadline = time.monotonic() + _READY_LIMIT_S
        while not _answers(url + probe):
            if not child.is_alive() or time.monotonic() > deadline:
                raise CliError(f"{name} did not start; its log ends:\n{log_tail(log)}", code="bench_failed")
            time.sleep(_POLL_S)
        yield url
    finally:
        child.ask_to_stop()
        if not child.wait(_STOP_LIMIT_S):
            child.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=_STOP_LIMIT_S) as answer:  # noqa: S310 - our own child
            json.load(answer)
    except (OSError, ValueError, urllib.error.URLError):
        return False
    return True
