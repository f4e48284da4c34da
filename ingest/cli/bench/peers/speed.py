"""Searches in this process, Kebab's and the peers', by turns: each query is asked of all before the next."""

import gc
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ingest.cli.bench.peers.corpus import Corpus
from ingest.cli.bench.peers.registry import Peer, PeerSearch, opened_in
from ingest.cli.bench.search import search_s
from kebab.people.models import Workspace
from search.embedders.configured import embedder_for_queries, forget_queries
from search.evaluation.latency import Latencies
from search.retrieval.types import Mode
from search.vectors.spaces import live_space

KEBAB = "Kebab"
_GIVEN = ", vector given"
_NOTE = "whole hits with snippets and citations"
_TOP = 10
_WARM_UP = 20

#: Asks one query; what it gives is not looked at.
Ask = Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One system beside Kebab in the mode that does the same."""

    group: str
    system: str
    #: How the system is used.
    note: str
    latencies: Latencies
    #: Kebab's in the same group.
    beside: Latencies

    def as_json(self) -> dict[str, Any]:
        """Return its part of `bench.v1`; a ratio above 1 says how many times Kebab's time it takes."""
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
    """Measure `peers`, all opened at once, on queries whose vectors are given."""
    with ExitStack() as stack, tempfile.TemporaryDirectory(prefix="kebab-peers-") as folder:
        opened = {}
        for peer in peers:
            say(f"Indexing {len(corpus):,} chunks: {peer.label} ...")
            opened[peer.label] = stack.enter_context(opened_in(Path(folder), peer, corpus))
        asks = _asks(workspace, queries, opened)
        say(f"Asking {len(queries)} queries by turns ...")
        gc.collect()
        gc.freeze()  # the corpus in this process is not to slow down who runs in it
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
    """Ask every query of all, each time beginning with another one; give the seconds by name.

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
    """Has Kebab forget a query's vector that another mode has embedded, or know it where it is given."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._space = live_space(workspace)

    def __call__(self, name: str, text: str) -> None:
        forget_queries()
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
    """Return the ways in which Kebab is asked in a mode: with vectors also as peers are."""
    plain = _own_name(mode)
    return [plain] if mode is Mode.LEXICAL else [plain, plain + _GIVEN]
