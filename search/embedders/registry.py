"""Embedders by the text that the settings write them in."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from search.embedders import spec as forms
from search.embedders.base import Embedder
from search.embedders.hash_embedder import HashEmbedder
from search.embedders.null_embedder import AbsentEmbedder
from search.embedders.spec import EmbedderSpec, parse_spec
from search.retrieval.errors import EmbedderUnavailable

if TYPE_CHECKING:
    from search.embedders.endpoint import Endpoints


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What an embedder is given to work with."""

    #: Keeps graphs made from weights, and fetched models.
    models_dir: Path
    #: Passages, or requests, at once.
    threads: int
    #: Gives what the settings say about endpoints; asked for one alone.
    endpoints: "Callable[[], Endpoints] | None" = field(default=None)


def make_embedder(
    text: str,
    *,
    models_dir: Path,
    threads: int,
    endpoints: "Callable[[], Endpoints] | None" = None,
) -> Embedder:
    """Make the embedder that `text` describes (`search.embedders.spec`); the first text loads its model.

    Raises: EmbedderUnavailable for a text that describes none, or one that can't be right.
    """
    try:
        wanted = parse_spec(text)
    except ValueError as error:
        raise EmbedderUnavailable(f"KEBAB_EMBEDDER: {error}", is_lasting=True) from error
    surroundings = Surroundings(models_dir=models_dir, threads=threads, endpoints=endpoints)
    return _MAKERS[wanted.kind](wanted, surroundings)


def _make_minilm(wanted: EmbedderSpec, given: Surroundings) -> Embedder:
    # onnxruntime takes some 30 MB: a process without the default model does without it.
    from search.embedders.minilm.embedder import MiniLmEmbedder

    return MiniLmEmbedder(given.models_dir, threads=given.threads)


def _make_hash(wanted: EmbedderSpec, given: Surroundings) -> Embedder:
    return HashEmbedder() if wanted.dim is None else HashEmbedder(wanted.dim)


def _make_absent(wanted: EmbedderSpec, given: Surroundings) -> Embedder:
    return AbsentEmbedder()


def _make_fast(wanted: EmbedderSpec, given: Surroundings) -> Embedder:
    from search.embedders.fastembed_model import FastEmbedder

    return FastEmbedder(wanted, cache_dir=given.models_dir / "fastembed", threads=given.threads)


def _make_endpoint(wanted: EmbedderSpec, given: Surroundings) -> Embedder:
    # The HTTP client takes 0.1 s and 6 MB.
    from search.embedders.endpoint import Endpoints, make_endpoint_embedder

    endpoints = Endpoints() if given.endpoints is None else given.endpoints()
    return make_endpoint_embedder(wanted, endpoints, threads=given.threads)


_MAKERS: Final[Mapping[str, Callable[[EmbedderSpec, Surroundings], Embedder]]] = {
    forms.DEFAULT: _make_minilm,
    forms.HASH: _make_hash,
    forms.NONE: _make_absent,
    forms.FASTEMBED: _make_fast,
    forms.OPENAI: _make_endpoint,
}
