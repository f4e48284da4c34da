"""The default embedder: all-MiniLM-L6-v2 in int8 on the CPU."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

import numpy as np

from search.embedders.base import SpaceIdentity
from search.embedders.minilm.graph_file import QUANTISATION, REVISION, ensure_graph
from search.embedders.minilm.session import EmbedOne, open_session
from search.embedders.minilm.tokenizer import load_tokenizer, token_ids
from search.embedders.minilm.weights import DIM, MAX_TOKENS, MODEL


class MiniLmEmbedder:
    """An embedder that runs one sequence at a time, so that a text's vector never depends on other texts.

    Dynamic int8 takes an activation's scale from the whole batch: in two batches the same text got vectors
    as far apart as cosine 0.978. The model is loaded (and built, if necessary) with the first text only: an
    embedder may be constructed before a fork, and without the model's wheel.
    """

    space = SpaceIdentity(
        model=MODEL, revision=REVISION, dim=DIM, quantisation=QUANTISATION, languages=("en",)
    )
    max_tokens = MAX_TOKENS

    def __init__(self, models_dir: Path, *, threads: int) -> None:
        """Create the embedder; `threads`, at least 1, is the number of concurrent passages.

        It is fastest with one thread per core.
        """
        if threads < 1:
            raise ValueError(f"{threads} threads can't embed; give at least 1.")
        self._models_dir = models_dir
        self._threads = threads
        self._loading = Lock()
        self._embed_one: EmbedOne | None = None

    def embed_query(self, text: str) -> np.ndarray:
        """Return the vector of `text`, (384,) float32 of length 1. Raises: EmbedderUnavailable."""
        return self._ensure_loaded()(token_ids(text))

    def embed_passages(self, texts: Sequence[str]) -> np.ndarray:
        """Return the texts' vectors, (n, 384) float32 of length 1, in order. Raises: EmbedderUnavailable."""
        vectors = np.empty((len(texts), DIM), np.float32)
        if not texts:
            return vectors
        embed_one = self._ensure_loaded()

        def fill(row: int) -> None:
            vectors[row] = embed_one(token_ids(texts[row]))

        # The longest first, so that threads finish at about the same time.
        rows = sorted(range(len(texts)), key=lambda row: -len(texts[row]))
        # A new pool takes 0.3 ms per call and, unlike a permanent one, works after a fork.
        with ThreadPoolExecutor(self._threads, thread_name_prefix="embed") as threads:
            list(threads.map(fill, rows))
        return vectors

    def _ensure_loaded(self) -> EmbedOne:
        with self._loading:
            if self._embed_one is None:
                load_tokenizer()
                self._embed_one = open_session(ensure_graph(self._models_dir))
            return self._embed_one
