"""Registry of the peers: search mode, required packages, and the module that opens each."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import numpy as np

from search.retrieval.types import Mode
from tests.drills.bench.peers.corpus import Corpus

#: Returns the chunk ids of the best hits; parameters: query, its vector (dim,) float32 of length 1, number.
PeerSearch = Callable[[str, np.ndarray, int], list[str]]

#: Indexes the corpus below the folder, and yields the peer's search over it while the block runs.
OpenIndex = Callable[[Corpus, Path], AbstractContextManager[PeerSearch]]

_REQUIREMENTS: Final = "deploy/requirements-peers.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A search system that Kebab is compared with."""

    name: str
    #: The equivalent search mode of Kebab.
    mode: Mode
    #: Distributions that it requires.
    packages: tuple[str, ...] = ()
    #: Indexes the corpus below an empty folder, and yields the search while the block runs.
    open_index: OpenIndex
    #: Its configuration in this comparison.
    note: str

    @property
    def missing(self) -> str | None:
        """Return a message about missing packages, None when it can be opened."""
        lacking = [package for package in self.packages if installed_version(package) is None]
        return f"{', '.join(lacking)} not installed ({_REQUIREMENTS})" if lacking else None

    @property
    def label(self) -> str:
        """Return its name with the version of its package."""
        return f"{self.name} {installed_version(self.packages[0])}" if self.packages else self.name


# Imported when opened, as a peer's package may be missing.
def _fts5(corpus: Corpus, folder: Path) -> AbstractContextManager[PeerSearch]:
    from tests.drills.bench.peers.plain_fts5 import open_index

    return open_index(corpus, folder)


def _tantivy(corpus: Corpus, folder: Path) -> AbstractContextManager[PeerSearch]:
    from tests.drills.bench.peers.tantivy_index import open_index

    return open_index(corpus, folder)


def _chroma(corpus: Corpus, folder: Path) -> AbstractContextManager[PeerSearch]:
    from tests.drills.bench.peers.chroma_collection import open_index

    return open_index(corpus, folder)


def _sql_fusion(corpus: Corpus, folder: Path) -> AbstractContextManager[PeerSearch]:
    from tests.drills.bench.peers.sql_fusion import open_index

    return open_index(corpus, folder)


def _lancedb(corpus: Corpus, folder: Path) -> AbstractContextManager[PeerSearch]:
    from tests.drills.bench.peers.lancedb_table import open_index

    return open_index(corpus, folder)


def _txtai(corpus: Corpus, folder: Path) -> AbstractContextManager[PeerSearch]:
    from tests.drills.bench.peers.txtai_index import open_index

    return open_index(corpus, folder)


PEERS: Final = (
    Peer(
        name="SQLite FTS5",
        mode=Mode.LEXICAL,
        open_index=_fts5,
        note="porter unicode61, an OR of the terms without stop words, by bm25",
    ),
    Peer(
        name="Tantivy",
        mode=Mode.LEXICAL,
        packages=("tantivy",),
        open_index=_tantivy,
        note="en_stem, an OR of the words without stop words in both fields",
    ),
    Peer(
        name="Chroma",
        mode=Mode.VECTOR,
        packages=("chromadb",),
        open_index=_chroma,
        note="persistent client, HNSW by cosine; its hybrid search is its cloud's alone",
    ),
    Peer(
        name="Postgres SQL fusion",
        mode=Mode.HYBRID,
        open_index=_sql_fusion,
        note="tsvector by ts_rank and pgvector by HNSW (ef_search 100), RRF in one statement",
    ),
    Peer(
        name="LanceDB",
        mode=Mode.HYBRID,
        packages=("lancedb", "pyarrow"),
        open_index=_lancedb,
        note="its hybrid search: full-text index, IVF_HNSW_SQ, RRF reranker",
    ),
    Peer(
        name="txtai",
        mode=Mode.HYBRID,
        packages=("txtai", "faiss-cpu"),
        open_index=_txtai,
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
def open_peer(folder: Path, peer: Peer, corpus: Corpus) -> Iterator[PeerSearch]:
    """Open a peer in a folder of its own below `folder`."""
    own = folder / peer.name.lower().replace(" ", "-")
    own.mkdir()
    with peer.open_index(corpus, own) as search:
        yield search
