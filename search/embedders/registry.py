"""A registry that creates embedders from their specs in the settings."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from search.embedders import spec as forms
from search.embedders.base import Embedder
from search.embedders.bert.model import ENGLISH_MODEL, MULTILINGUAL_MODEL
from search.embedders.hash_embedder import HashEmbedder
from search.embedders.null_embedder import NullEmbedder
from search.embedders.spec import EmbedderSpec, parse_spec
from search.retrieval.errors import EmbedderUnavailable


def create_embedder(text: str, *, models_dir: Path, threads: int) -> Embedder:
    """Create the embedder of a spec (`search.embedders.spec`); its model is loaded with the first text.

    `models_dir` is for built graphs and downloaded models; `threads` passages or requests run concurrently.
    Raises: EmbedderUnavailable for an invalid spec.
    """
    try:
        spec = parse_spec(text)
    except ValueError as error:
        raise EmbedderUnavailable(f"KEBAB_EMBEDDER: {error}", is_lasting=True) from error
    return _FACTORIES[spec.kind](spec, models_dir, threads)


def _create_local(spec: EmbedderSpec, models_dir: Path, threads: int) -> Embedder:
    # Lazy import: onnxruntime takes about 30 MB.
    from search.embedders.bert.embedder import LocalEmbedder
    from search.embedders.bert.models import LOCAL_MODELS

    name = MULTILINGUAL_MODEL if spec.kind == forms.MULTILINGUAL else ENGLISH_MODEL
    return LocalEmbedder(LOCAL_MODELS[name], models_dir, threads=threads)


def _create_hash(spec: EmbedderSpec, models_dir: Path, threads: int) -> Embedder:
    return HashEmbedder() if spec.dim is None else HashEmbedder(spec.dim)


def _create_fastembed(spec: EmbedderSpec, models_dir: Path, threads: int) -> Embedder:
    from search.embedders.fastembed_model import FastEmbedder

    return FastEmbedder(spec, cache_dir=models_dir / "fastembed", threads=threads)


def _create_endpoint(spec: EmbedderSpec, models_dir: Path, threads: int) -> Embedder:
    # Lazy import: the HTTP client takes 0.1 s and 6 MB.
    from search.embedders.endpoint import create_endpoint_embedder
    from search.endpoints.settings import embed_endpoint

    configured = embed_endpoint(model=spec.model, url=spec.url, key=spec.key, limit_s=spec.limit_s)
    return create_endpoint_embedder(spec, configured, threads=threads)


_FACTORIES: Final[Mapping[str, Callable[[EmbedderSpec, Path, int], Embedder]]] = {
    forms.DEFAULT: _create_local,
    forms.ENGLISH: _create_local,
    forms.MULTILINGUAL: _create_local,
    forms.HASH: _create_hash,
    forms.NONE: lambda spec, models_dir, threads: NullEmbedder(),
    forms.FASTEMBED: _create_fastembed,
    forms.OPENAI: _create_endpoint,
}
