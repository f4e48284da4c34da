"""Embedding models run by fastembed: ONNX graphs on the CPU, one sequence at a time."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from search.embedders.base import SpaceIdentity
from search.embedders.spec import USUAL_MAX_TOKENS, EmbedderSpec
from search.endpoints.circuit_breaker import CircuitBreaker
from search.retrieval.errors import EmbedderUnavailable

if TYPE_CHECKING:
    from fastembed import TextEmbedding

INSTALL: Final = "pip install --no-deps -r deploy/requirements-rerank.txt"
# File names of exported graphs; the first that exists is used.
_GRAPHS = ("onnx/model.onnx", "model.onnx", "model_optimized.onnx", "onnx/model_quantized.onnx")
# Tokenizing a whole pasted book takes seconds, and no model here reads so much.
_EMBEDDED_CHARS = 20_000
# Time that a query waits for a model being loaded: a download takes minutes, its failure most of a minute.
_QUERY_WAIT_S = 1.0


class FastEmbedder:
    """An embedder with a model that fastembed knows, or one from a folder.

    It runs one sequence at a time per thread: a graph in dynamic int8 takes its scales from the whole batch,
    so that a text's vector would depend on the others. The model is loaded with the first text, and
    downloaded unless a folder is given; other queries don't wait for that, and a failed load is retried only
    after half a minute.
    """

    def __init__(self, spec: EmbedderSpec, *, cache_dir: Path, threads: int) -> None:
        """Create the embedder; downloads go to `cache_dir`. Raises: EmbedderUnavailable if it is unknown."""
        self._spec = spec
        self._cache_dir = cache_dir
        self._threads = threads
        self._loading = Lock()
        self._breaker = CircuitBreaker(spec.name, EmbedderUnavailable, failures=1)
        self._model: TextEmbedding | None = None
        self.space = _identity(spec, _describe_model(spec))
        self.max_tokens = spec.max_tokens or USUAL_MAX_TOKENS

    def embed_query(self, text: str) -> np.ndarray:
        """Return the vector of `text`, (dim,) float32 of length 1. Raises: EmbedderUnavailable."""
        model = self._ensure_loaded(wait_s=_QUERY_WAIT_S)
        return self._vector(model.query_embed, self.space.query_prefix + text)

    def embed_passages(self, texts: Sequence[str]) -> np.ndarray:
        """Return the texts' vectors, (n, dim) float32 of length 1, in order. Raises: EmbedderUnavailable."""
        vectors = np.empty((len(texts), self.space.dim), np.float32)
        if not texts:
            return vectors
        model = self._ensure_loaded()

        def fill(row: int) -> None:
            vectors[row] = self._vector(model.passage_embed, self.space.passage_prefix + texts[row])

        # The longest first, so that threads finish at about the same time.
        rows = sorted(range(len(texts)), key=lambda row: -len(texts[row]))
        with ThreadPoolExecutor(self._threads, thread_name_prefix="embed") as threads:
            list(threads.map(fill, rows))
        return vectors

    def _vector(self, embed: Callable[[list[str]], Any], text: str) -> np.ndarray:
        encodable = text[:_EMBEDDED_CHARS].encode("utf-8", "replace").decode()
        vector = np.asarray(next(iter(embed([encodable]))), np.float32)
        length = float(np.linalg.norm(vector))
        if vector.shape != (self.space.dim,) or not np.isfinite(length) or length == 0:
            raise EmbedderUnavailable(
                f"{self._spec.name} gave a vector of shape {vector.shape} and length {length:g}, where"
                f" {self.space.dim} components were to come. Check its dim and its files.",
                is_lasting=True,
            )
        return vector / length

    def _ensure_loaded(self, *, wait_s: float = -1) -> "TextEmbedding":
        """Return the loaded model; waits up to `wait_s` for another thread's load, -1 without limit.

        Raises: EmbedderUnavailable.
        """
        if self._model is not None:
            return self._model
        if not self._loading.acquire(timeout=wait_s):
            raise EmbedderUnavailable(f"{self._spec.name} is being fetched or read; it is there soon.")
        try:
            if self._model is None:
                with self._breaker.attempt():
                    self._model = self._load()
            return self._model
        finally:
            self._loading.release()

    def _load(self) -> "TextEmbedding":
        from fastembed import TextEmbedding

        folder = self._spec.folder
        own_files: dict[str, Any] = {} if folder is None else {"specific_model_path": str(folder)}
        self._cache_dir.mkdir(parents=True, exist_ok=True)
        try:
            model = TextEmbedding(
                self._spec.model,
                cache_dir=str(self._cache_dir),
                threads=1,
                cuda=False,
                local_files_only=folder is not None,
                **own_files,
            )
        except Exception as error:  # fastembed passes on any error of its downloaders and of onnxruntime
            raise EmbedderUnavailable(
                f"The model {self._spec.model} {_load_error_message(folder, error)}."
            ) from error
        self._limit_tokens(model)
        return model

    def _limit_tokens(self, model: "TextEmbedding") -> None:
        """Truncate input to `max_tokens`: memory grows with the square of the number of tokens."""
        tokenizer = getattr(model.model, "tokenizer", None)
        truncation = getattr(tokenizer, "truncation", None)
        if tokenizer is not None and truncation is not None and truncation["max_length"] > self.max_tokens:
            tokenizer.enable_truncation(self.max_tokens, direction=truncation["direction"])


def _load_error_message(folder: Path | None, error: Exception) -> str:
    kind = type(error).__name__
    if folder is None:
        return f"can't be fetched ({kind}); where there is no network give its files with ?folder=PATH"
    return f"can't be read ({kind}); check the files of its folder"


def _describe_model(spec: EmbedderSpec) -> dict[str, Any]:
    """Return fastembed's description of the model; a model with a folder is registered if unknown."""
    if find_spec("fastembed") is None:
        raise EmbedderUnavailable(f"fastembed is not installed. Run: {INSTALL}", is_lasting=True)
    known = _find_description(spec.model)
    if known is None and spec.folder is not None:
        _register_custom_model(spec, spec.folder)
        known = _find_description(spec.model)
    if known is None:
        raise EmbedderUnavailable(
            f"fastembed knows no model {spec.model!r}; give one that it lists, or its files with"
            " ?folder=PATH&dim=NUMBER.",
            is_lasting=True,
        )
    return known


def _find_description(model: str) -> dict[str, Any] | None:
    from fastembed import TextEmbedding

    models = TextEmbedding.list_supported_models()
    return next((found for found in models if found["model"].lower() == model.lower()), None)


def _register_custom_model(spec: EmbedderSpec, folder: Path) -> None:
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    dim = spec.dim or spec.traits.dim
    graph = next((name for name in _GRAPHS if (folder / name).is_file()), None)
    if graph is None or dim is None:
        missing = "dim=NUMBER" if dim is None else f"one of {', '.join(_GRAPHS)} in its folder"
        raise EmbedderUnavailable(f"The model {spec.model} lacks {missing}.", is_lasting=True)
    TextEmbedding.add_custom_model(
        spec.model,
        pooling=PoolingType[spec.pooling.upper()],
        normalization=True,
        sources=ModelSource(hf=spec.model),  # required, but unused with a folder
        dim=dim,
        model_file=graph,
    )


def _identity(spec: EmbedderSpec, description: dict[str, Any]) -> SpaceIdentity:
    traits = spec.traits
    # Another repository or graph of the same model gives other vectors.
    graph_source = f"{description['sources'].get('hf') or description['model']}/{description['model_file']}"
    return SpaceIdentity(
        model=str(description["model"]),
        revision=spec.revision or graph_source[-100:],
        dim=int(description["dim"]),
        quantisation="int8" if "quant" in graph_source or "int8" in graph_source else "none",
        query_prefix=traits.query_prefix if spec.query_prefix is None else spec.query_prefix,
        passage_prefix=traits.passage_prefix if spec.passage_prefix is None else spec.passage_prefix,
        languages=traits.languages if spec.languages is None else spec.languages,
    )
