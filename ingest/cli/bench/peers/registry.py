"""The peers: what each does, what has to be installed for it, and which module opens it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import numpy as np

from ingest.cli.bench.peers.corpus import Corpus
from search.retrieval.types import Mode

#: Gives the chunk ids of the best so many: query, its vector (dim,) float32 of length 1, how many.
PeerSearch = Callable[[str, np.ndarray, int], list[str]]

#: Gives a peer's search over the corpus, which it indexes below the folder, while the block runs.
Opened = Callable[[Corpus, Path], AbstractContextManager[PeerSearch]]

_REQUIREMENTS: Final = "deploy/requirements-peers.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """What Kebab is compared with."""

    name: str
    #: Which of our modes does the same.
    mode: Mode
    #: Distributions that it needs.
    packages: tuple[str, ...] = ()
    #: Indexes the corpus below a folder, which is empty, and gives the search while the block runs.
    opened: Opened
    #: How it is used.
    note: str

    @property
    def missing(self) -> str | None:
        """Return what it lacks here; None when it can be opened."""
        lacking = [package for package in self.packages if installed_version(package) is None]
        return f"{', '.join(lacking)} not installed ({_REQUIREMENTS})" if lacking else None

    @property
    def label(self) -> str:
        """Return its name with the version of its package."""
        return f"{self.name} {installed_version(self.packages[0])}" if self.packages else self.name


# Only what is opened is imported: a peer's package may be missing.
def _fts5(corpus: Corpus, folder: Path) -> AbstractContextManager[PeerSearch]:
    from ingest.cli.bench.peers.plain_fts5 import opened

    return opened(corpus, folder)


def _tantivy(corpus: Corpus, folder: Path) -> AbstractContextManager[PeerSearch]:
    from ingest.cli.bench.peers.tantivy_index import opened

    return opened(corpus, folder)


def _chroma(corpus: Corpus, folder: Path) -> AbstractContextManager[PeerSearch]:
    from ingest.cli.bench.peers.chroma_collection import opened

    return opened(corpus, folder)


def _sql_fusion(corpus: Corpus, folder: Path) -> AbstractContextManager[PeerSearch]:
    from ingest.cli.bench.peers.sql_fusion import opened

    return opened(corpus, folder)


def _lancedb(corpus: Corpus, folder: Path) -> AbstractContextManager[PeerSearch]:
    from ingest.cli.bench.peers.lancedb_table import opened

    return opened(corpus, folder)


def _txtai(corpus: Corpus, folder: Path) -> AbstractContextManager[PeerSearch]:
    from ingest.cli.bench.peers.txtai_index import opened

    return opened(corpus, folder)


PEERS: Final = (
    Peer(
        name="SQLite FTS5",
        mode=Mode.LEXICAL,
        opened=_fts5,
        note="porter unicode61, an OR of the terms without stop words, by bm25",
    ),
    Peer(
        name="Tantivy",
        mode=Mode.LEXICAL,
        packages=("tantivy",),
        opened=_tantivy,
        note="en_stem, an OR of the words without stop words in both fields",
    ),
    Peer(
        name="Chroma",
        mode=Mode.VECTOR,
        packages=("chromadb",),
        opened=_chroma,
        note="persistent client, HNSW by cosine; its hybrid search is its cloud's alone",
    ),
    Peer(
        name="Postgres SQL fusion",
        mode=Mode.HYBRID,
        opened=_sql_fusion,
        note="tsvector by ts_rank and pgvector by HNSW (ef_search 100), RRF in one statement",
    ),
    Peer(
        name="LanceDB",
        mode=Mode.HYBRID,
        packages=("lancedb", "pyarrow"),
        opened=_lancedb,
        note="its hybrid search: full-text index, IVF_HNSW_SQ, RRF reranker",
    ),
    Peer(
        name="txtai",
        mode=Mode.HYBRID,
        packages=("txtai", "faiss-cpu"),
        opened=_txtai,
        note="its hybrid index: Faiss as it chooses and BM25, weights as it has them",
    ),
)


def installed_version(package: str) -> str | None:
    """Return the installed version of a distribution, None when there is none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@contextmanager
def opened_in(folder: Path, peer: Peer, corpus: Corpus) -> Iterator[PeerSearch]:
    """Open a peer in a folder of its own below `folder`."""
    own = folder / peer.name.lower().replace(" ", "-")
    own.mkdir()
    with peer.opened(corpus, own) as search:
        yield search
