"""An embedder of a local model in int8 on the CPU."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

import numpy as np

from search.embedders.bert.graph_file import GRAPH, ensure_graph
from search.embedders.bert.model import DIM, LocalModel
from search.embedders.bert.session import open_session


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
        self._embed: Callable[[str], np.ndarray] | None = None

    def embed_query(self, text: str) -> np.ndarray:
        """Return the vector of `text`, (384,) float32 of length 1. Raises: EmbedderUnavailable."""
        return self._ensure_loaded()(self.space.query_prefix + text)

    def embed_passages(self, texts: Sequence[str]) -> np.ndarray:
        """Return the texts' vectors, (n, 384) float32 of length 1, in order. Raises: EmbedderUnavailable."""
        vectors = np.empty((len(texts), DIM), np.float32)
        if not texts:
            return vectors
        embed, prefix = self._ensure_loaded(), self.space.passage_prefix

        def fill(row: int) -> None:
            vectors[row] = embed(prefix + texts[row])

        # The longest first, so that threads finish at about the same time.
        rows = sorted(range(len(texts)), key=lambda row: -len(texts[row]))
        # A new pool takes 0.3 ms per call and, unlike a permanent one, works after a fork.
        with ThreadPoolExecutor(self._threads, thread_name_prefix="embed") as threads:
            list(threads.map(fill, rows))
        return vectors

    def _ensure_loaded(self) -> Callable[[str], np.ndarray]:
        with self._loading:
            if self._embed is None:
                folder = ensure_graph(self._model, self._models_dir)
                encode, embed_one = self._model.load_encoder(folder), open_session(folder / GRAPH)
                self._embed = lambda text: embed_one(encode(text))
            return self._embed
