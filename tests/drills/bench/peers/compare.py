"""Comparisons with peers: speed in this process, throughput over HTTP, quality on judged sets."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kebab.identity.models import Workspace
from search.embedders.configured import configured_embedder
from search.evaluation.beir import read_judged_set
from search.retrieval.errors import EmbedderUnavailable
from tests.drills.bench.budgets.search import heading_queries
from tests.drills.bench.peers.corpus import Corpus
from tests.drills.bench.peers.judged import judged_rows
from tests.drills.bench.peers.registry import PEERS, Peer
from tests.drills.bench.peers.servers import SERVERS, PeerServer, throughput_rows
from tests.drills.bench.peers.speed import speed_rows

Say = Callable[[str], None]


def compare_peers(workspace: Workspace, number: int, url: str, say: Say) -> dict[str, Any]:
    """Compare speed on `number` heading-like queries of a workspace with vectors; `url` is the stack's or ''.

    Raises EmbedderUnavailable.
    """
    embedder = configured_embedder()
    if embedder is None:
        raise EmbedderUnavailable("Peers are given query vectors; set KEBAB_EMBEDDER to an embedder.")
    corpus = Corpus.of(workspace)
    if not len(corpus):
        raise EmbedderUnavailable("The workspace has no vectors to compare with; embed it first.")
    queries = {text: embedder.embed_query(text) for text in heading_queries(workspace, 2 * number)}
    peers, servers = installed_peers()
    first = dict(list(queries.items())[:number])
    speed = [row.as_json() for row in speed_rows(workspace, corpus, first, peers, say)]
    skipped = skipped_peers()
    if not url:
        return {"speed": speed, "http": [], "skipped": {**skipped, "HTTP": "no `kebab up` runs"}}
    unseen = dict(list(queries.items())[number:]) or first
    http = throughput_rows(workspace, url, corpus, unseen, servers, say)
    return {"speed": speed, "http": http, "skipped": skipped}


def measure_quality(folders: Sequence[Path], say: Say) -> list[dict[str, Any]]:
    """Return nDCG@10 of Kebab and of the installed peers on each set in BEIR's layout."""
    peers, _ = installed_peers()
    return [row for folder in folders for row in judged_rows(read_judged_set(folder), peers, say)]


def installed_peers() -> tuple[list[Peer], list[PeerServer]]:
    """Return the peers and the servers whose packages are installed."""
    return [peer for peer in PEERS if peer.missing is None], [
        each for each in SERVERS if each.missing is None
    ]


def skipped_peers() -> dict[str, str]:
    """Return the reasons for left-out peers and servers, by name."""
    servers = {f"{each.name}'s server": each.missing for each in SERVERS}
    return {name: why for name, why in [*((p.name, p.missing) for p in PEERS), *servers.items()] if why}
