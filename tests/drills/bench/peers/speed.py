"""Latency of searches in this process, of Kebab and the peers by turns: all get a query before the next."""

import gc
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kebab.identity.models import Workspace
from search.embedders.configured import clear_query_caches, embedder_for_queries
from search.evaluation.results import Latencies
from search.retrieval.types import Mode
from search.vectors.spaces import live_space
from tests.drills.bench.budgets.search import search_s
from tests.drills.bench.peers.corpus import Corpus
from tests.drills.bench.peers.registry import Peer, PeerSearch, open_peer

KEBAB = "Kebab"
_GIVEN = ", vector given"
_NOTE = "whole hits with snippets and citations"
_TOP = 10
_WARM_UP = 20

#: Sends one query; the result is ignored.
Ask = Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One system compared with Kebab in the equivalent mode."""

    group: str
    system: str
    #: How the system is used.
    note: str
    latencies: Latencies
    #: Kebab's in the same group.
    beside: Latencies

    def as_json(self) -> dict[str, Any]:
        """Return the row as part of `bench.v1`; ratios are multiples of Kebab's time."""
        return {
            "group": self.group,
            "system": self.system,
            "p50_ms": round(self.latencies.p50_ms, 3),
            "p95_ms": round(self.latencies.p95_ms, 3),
            "p50_ratio": round(self.latencies.p50_ms / self.beside.p50_ms, 3),
            "p95_ratio": round(self.latencies.p95_ms / self.beside.p95_ms, 3),
            "note": self.note,
        }


def speed_rows(
    workspace: Workspace,
    corpus: Corpus,
    queries: Mapping[str, np.ndarray],
    peers: Sequence[Peer],
    say: Callable[[str], None],
) -> list[Row]:
    """Measure `peers`, all open at the same time, on queries with given vectors."""
    with ExitStack() as stack, tempfile.TemporaryDirectory(prefix="kebab-peers-") as folder:
        opened = {}
        for peer in peers:
            say(f"Indexing {len(corpus):,} chunks: {peer.label} ...")
            opened[peer.label] = stack.enter_context(open_peer(Path(folder), peer, corpus))
        asks = _asks(workspace, queries, opened)
        say(f"Asking {len(queries)} queries by turns ...")
        gc.collect()
        gc.freeze()  # so that the corpus in this process does not slow down garbage collection
        try:
            seconds = by_turns(asks, list(queries), prepare=_Preparing(workspace))
        finally:
            gc.unfreeze()
    return _rows(peers, {name: Latencies.of(each) for name, each in seconds.items()})


def by_turns(
    asks: Mapping[str, Ask],
    queries: Sequence[str],
    *,
    prepare: Callable[[str, str], None] = lambda name, text: None,
    warm_up: int = _WARM_UP,
) -> dict[str, list[float]]:
    """Send every query to all systems, each time beginning with another one; return the seconds by name.

    `prepare` is called before each with its name and the query, and is not timed.
    """
    names = list(asks)
    for text in queries[:warm_up]:
        for name in names:
            asks[name](text)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for number, text in enumerate(queries):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            prepare(name, text)
            started = time.perf_counter()
            asks[name](text)
            seconds[name].append(time.perf_counter() - started)
    return seconds


class _Preparing:
    """Preparation of Kebab's cache of query vectors: cleared, or filled where the vector is given."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._space = live_space(workspace)

    def __call__(self, name: str, text: str) -> None:
        clear_query_caches()
        embedder = embedder_for_queries(self._workspace, self._space)
        if name.endswith(_GIVEN) and embedder is not None:
            embedder.embed_query(text)


def _asks(
    workspace: Workspace, queries: Mapping[str, np.ndarray], opened: Mapping[str, PeerSearch]
) -> dict[str, Ask]:
    def own(mode: Mode) -> Ask:
        return lambda text: search_s(workspace, text, mode)

    def theirs(search: PeerSearch) -> Ask:
        return lambda text: search(text, queries[text], _TOP)

    kebab = {name: own(mode) for mode in Mode for name in _own_names(mode)}
    return {**kebab, **{name: theirs(search) for name, search in opened.items()}}


def _rows(peers: Sequence[Peer], found: Mapping[str, Latencies]) -> list[Row]:
    rows = []
    for mode in Mode:
        own = found[_own_name(mode)]
        for name in _own_names(mode):
            system = KEBAB + _GIVEN if name.endswith(_GIVEN) else KEBAB
            note = _NOTE if system != KEBAB or mode is Mode.LEXICAL else f"embeds the query, {_NOTE}"
            rows.append(Row(group=mode.value, system=system, note=note, latencies=found[name], beside=own))
        rows += [
            Row(group=mode.value, system=peer.label, note=peer.note, latencies=found[peer.label], beside=own)
            for peer in peers
            if peer.mode is mode
        ]
    return rows


def _own_name(mode: Mode) -> str:
    return f"{KEBAB}, {mode}"


def _own_names(mode: Mode) -> list[str]:
    """Return the names of Kebab's variants in a mode; with vectors also one with the vector given."""
    plain = _own_name(mode)
    return [plain] if mode is Mode.LEXICAL else [plain, plain + _GIVEN]
