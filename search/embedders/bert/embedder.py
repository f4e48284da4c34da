"""An embedder of a local model in int8 on the CPU."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

import numpy as np

from search.embedders.bert.graph_file import GRAPH, ensure_graph
from search.embedders.bert.model import DIM, LocalModel
from search.embedders.bert.session import EmbedOne, open_session


class LocalEmbedder:
    """An embedder that runs one sequence at a time, so that a text's vector never depends on other texts.

    Dynamic int8 takes an activation's scale from the whole batch: in two batches the same text got vectors
    as far apart as cosine 0.978. The model is loaded (and built, if necessary) with the first text only: an
    embedder may be constructed before a fork, and without the model's wheel.
    """

    def __init__(self, model: LocalModel, models_dir: Path, *, threads: int) -> None:
        """Create the embedder; `threads`, at least 1, is the number of concurrent passages.

        It is fastest with one thread per core.
        """
        if threads < 1:
            raise ValueError(f"{threads} threads can't embed; give at least 1.")
        self.space = model.space
        self.max_tokens = model.max_tokens
        self._model = model
        self._models_dir = models_dir
        self._threads = threads
        self._loading = Lock()
        #: From a text to the graph's input, and from that to a vector.
        self._loaded: tuple[Callable[[str], np.ndarray], EmbedOne] | None = None

    def embed_query(self, text: str) -> np.ndarray:
        """Return the vector of `text`, (384,) float32 of length 1. Raises: EmbedderUnavailable."""
        encode, embed_one = self._ensure_loaded()
        return embed_one(encode(self.space.query_prefix + text))

    def embed_passages(self, texts: Sequence[str]) -> np.ndarray:
        """Return the texts' vectors, (n, 384) float32 of length 1, in order. Raises: EmbedderUnavailable."""
        vectors = np.empty((len(texts), DIM), np.float32)
        if not texts:
            return vectors
        (encode, embed_one), prefix = self._ensure_loaded(), self.space.passage_prefix

        def fill(row: int) -> None:
            vectors[row] = embed_one(encode(prefix + texts[row]))

        # The longest first, so that threads finish at about the same time.
        rows = sorted(range(len(texts)), key=lambda row: -len(texts[row]))
        # A new pool takes 0.3 ms per call and, unlike a permanent one, works after a fork.
        with ThreadPoolExecutor(self._threads, thread_name_prefix="embed") as threads:
            list(threads.map(fill, rows))
        return vectors

    def word_vectors(self, text: str) -> np.ndarray | None:
        """Return the vectors of its words, (n, 384) float32; None if the graph has the table of words.

        Raises: EmbedderUnavailable.
        """
        encode, _ = self._ensure_loaded()
        words = encode(text)[0]
        # Without the marks at both ends.
        return words[1:-1] if words.ndim > 1 else None

    def _ensure_loaded(self) -> tuple[Callable[[str], np.ndarray], EmbedOne]:
        with self._loading:
            if self._loaded is None:
                folder = ensure_graph(self._model, self._models_dir)
                self._loaded = self._model.load_encoder(folder), open_session(folder / GRAPH)
            return self._loaded
