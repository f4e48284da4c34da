"""Quality of the peers' and Kebab's rankings on a judged set, over the same chunks and vectors."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ingest.cli.judged_documents import Loader, LoadResult, embed_all
from ingest.cli.scratch import scratch_workspace
from kebab.identity.models import Workspace
from kebab.identity.reader import OPERATOR
from search.embedders.configured import configured_embedder
from search.engine.search import search
from search.evaluation.beir import JudgedSet, read_documents
from search.evaluation.metrics import means, measure_each
from search.evaluation.run_topics import hits_needed
from search.models import Chunk
from search.retrieval.errors import EmbedderUnavailable
from search.retrieval.types import Mode, SearchQuery
from tests.drills.bench.peers.corpus import Corpus
from tests.drills.bench.peers.registry import Peer, PeerSearch, open_peer
from tests.drills.bench.peers.speed import KEBAB

_DEPTH = 10
_MEASURE = "nDCG@10"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judging:
    """A loaded set with its query vectors."""

    judged: JudgedSet
    #: The set's id of each chunk's document, by chunk id.
    documents: Mapping[str, str]
    vectors: Mapping[str, np.ndarray]
    #: Chunks to ask for, so that on average ten documents are among them.
    k: int


def judged_rows(judged: JudgedSet, peers: Sequence[Peer], say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Load the set into a scratch workspace and return nDCG@10 of Kebab's modes and of each peer.

    Raises EmbedderUnavailable.
    """
    with (
        scratch_workspace("bench-judged") as workspace,
        ExitStack() as stack,
        tempfile.TemporaryDirectory(prefix="kebab-peers-") as folder,
    ):
        say(f"Loading and embedding {judged.name} ...")
        loaded = Loader(workspace).load(read_documents(judged.folder), lambda: None)
        embed_all(workspace, lambda _: None)
        judging = _judging(workspace, judged, loaded)
        own = {mode: _worth(judging, _kebab(workspace, mode)) for mode in Mode}
        corpus, rows = (
            Corpus.of(workspace),
            [_row(judged, mode, KEBAB, own[mode], own[mode]) for mode in Mode],
        )
        for peer in peers:
            say(f"{judged.name}: {peer.label} ...")
            found = _worth(judging, stack.enter_context(open_peer(Path(folder), peer, corpus)))
            rows.append(_row(judged, peer.mode, peer.label, found, own[peer.mode]))
    return rows


def _judging(workspace: Workspace, judged: JudgedSet, loaded: LoadResult) -> _Judging:
    embedder = configured_embedder()
    if embedder is None:
        raise EmbedderUnavailable("Peers are given query vectors; set KEBAB_EMBEDDER to an embedder.")
    chunks = Chunk.objects.in_workspace(workspace).values_list("chunk_id", "document__doc_id")
    documents = {chunk_id.hex: loaded.names[doc_id.hex] for chunk_id, doc_id in chunks}
    return _Judging(
        judged=judged,
        documents=documents,
        vectors={topic: embedder.embed_query(text) for topic, text in judged.topics.items()},
        k=hits_needed(_DEPTH, chunks=len(documents), documents=len(loaded.names)),
    )


def _kebab(workspace: Workspace, mode: Mode) -> PeerSearch:
    def ask(query: str, vector: np.ndarray, k: int) -> list[str]:
        result = search(workspace, SearchQuery(text=query, mode=mode, k=k), reader=OPERATOR)
        return [hit.chunk_id for hit in result.hits]

    return ask


def _worth(judging: _Judging, search: PeerSearch) -> float:
    """Return the mean nDCG@10 over the set; a document has the rank of its best chunk."""
    rankings = {}
    for topic, text in judging.judged.topics.items():
        chunk_ids = search(text, judging.vectors[topic], judging.k)
        rankings[topic] = list(dict.fromkeys(judging.documents[chunk_id] for chunk_id in chunk_ids))[:_DEPTH]
    found = measure_each((_MEASURE,), judging.judged.qrels, rankings)
    return means(found.values(), (_MEASURE,))[_MEASURE] or 0.0


def _row(judged: JudgedSet, mode: Mode, system: str, worth: float, own: float) -> dict[str, Any]:
    return {
        "set": judged.name,
        "group": mode.value,
        "system": system,
        _MEASURE: round(worth, 4),
        "kebab_ahead_by": round(own - worth, 4),
    }
