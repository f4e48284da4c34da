"""Embedders by the name that the settings use."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from search.embedders.absent import AbsentEmbedder
from search.embedders.base import Embedder
from search.embedders.hashing import HashEmbedder
from search.embedders.weights import MODEL
from search.retrieval.errors import EmbedderUnavailable


def make_embedder(name: str, *, models_dir: Path, threads: int) -> Embedder:
    """Make the embedder called `name`; its model is loaded by the first text.

    `models_dir` keeps the graph made from the weights; `threads` passages are embedded at once.
    Raises: EmbedderUnavailable for a name that is none of `EMBEDDERS`.
    """
    try:
        make = EMBEDDERS[name]
    except KeyError:
        choices = ", ".join(EMBEDDERS)
        raise EmbedderUnavailable(
            f"There is no embedder {name!r}; KEBAB_EMBEDDER is one of {choices}."
        ) from None
    return make(models_dir, threads)


def _make_minilm(models_dir: Path, threads: int) -> Embedder:
    # onnxruntime takes some 30 MB: a process without the default model does without it.
    from search.embedders.minilm import MiniLmEmbedder

    return MiniLmEmbedder(models_dir, threads=threads)


def _make_hash(models_dir: Path, threads: int) -> Embedder:
    return HashEmbedder()


def _make_absent(models_dir: Path, threads: int) -> Embedder:
    return AbsentEmbedder()


EMBEDDERS: Final[Mapping[str, Callable[[Path, int], Embedder]]] = {
    "default": _make_minilm,
    MODEL: _make_minilm,
    "hash": _make_hash,
    "none": _make_absent,
}
