"""Local cross-encoder, loaded from a folder with fastembed. Nothing is ever downloaded."""

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from search.rerank.scorer import time_limit_error
from search.retrieval.errors import RerankerUnavailable

if TYPE_CHECKING:
    from fastembed.rerank.cross_encoder import TextCrossEncoder

INSTALL: Final = "pip install --no-deps -r deploy/requirements-rerank.txt"
_TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")
# File names by exporters; the first existing one is used.
_GRAPHS = ("onnx/model.onnx", "model.onnx", "onnx/model_quantized.onnx", "onnx/model_int8.onnx")
# The deadline is checked between two batches.
_BATCH = 8


class LocalScorer:
    """A scorer that loads the model with the first query and keeps it; it computes with `threads` threads."""

    gives_logits = True

    def __init__(self, folder: Path, *, threads: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._threads = threads
        self._clock = clock
        self._loading = threading.Lock()
        self._model: TextCrossEncoder | None = None

    @property
    def name(self) -> str:
        """Return the folder's name."""
        return self._folder.name

    def score(self, query: str, passages: Sequence[str], *, limit_s: float) -> list[float]:
        """Return the passages' logits. Raises: RerankerUnavailable, past the limit after a batch of eight."""
        ends_at = self._clock() + limit_s
        scores: list[float] = []
        for score in self._load_model(limit_s).rerank(query, passages, batch_size=_BATCH):
            scores.append(score)
            if self._clock() > ends_at:
                raise time_limit_error(limit_s)
        return scores

    def close(self) -> None:
        """Release the model."""
        with self._loading:
            self._model = None

    def _load_model(self, limit_s: float) -> "TextCrossEncoder":
        if not self._loading.acquire(timeout=limit_s):
            raise RerankerUnavailable("the local model is still being loaded", is_fault=False)
        try:
            if self._model is None:
                self._model = load_cross_encoder(self._folder, threads=self._threads)
            return self._model
        finally:
            self._loading.release()


def load_cross_encoder(folder: Path, *, threads: int) -> "TextCrossEncoder":
    """Load the model in `folder` without network access. Raises: RerankerUnavailable with the remedy."""
    graph = find_graph(folder)
    try:
        from fastembed.common.model_description import ModelSource
        from fastembed.rerank.cross_encoder import TextCrossEncoder
    except ImportError as error:
        raise RerankerUnavailable("the local reranker is not installed", remedy=f"Run: {INSTALL}") from error
    name = f"{folder.resolve()}/{graph}"
    if name.lower() not in {known["model"].lower() for known in TextCrossEncoder.list_supported_models()}:
        # fastembed requires a source, but never contacts it for a model with a local path.
        TextCrossEncoder.add_custom_model(name, sources=ModelSource(hf=folder.name), model_file=graph)
    return TextCrossEncoder(
        name,
        cache_dir=str(folder),
        threads=threads,
        cuda=False,
        local_files_only=True,
        specific_model_path=str(folder),
    )


def find_graph(folder: Path) -> str:
    """Return the model's graph, relative to `folder`. Raises: RerankerUnavailable, naming missing files."""
    missing = [name for name in _TOKENIZER_FILES if not (folder / name).is_file()]
    graph = next((name for name in _GRAPHS if (folder / name).is_file()), None)
    if graph is None or missing:
        wanted = ", ".join(missing + ([] if graph else [" or ".join(_GRAPHS)]))
        raise RerankerUnavailable(
            "the local reranker's model is missing",
            remedy=f"{folder} lacks {wanted}; point KEBAB_RERANK_MODEL to a folder that has them.",
        )
    return graph
