"""The null embedder: `none`, for lexical search only, and the substitute for one that can't be created."""

from collections.abc import Sequence
from typing import NoReturn

from search.embedders.base import SpaceIdentity
from search.retrieval.errors import EmbedderUnavailable

_NONE = "The embedder is `none`, so there are no vectors; set KEBAB_EMBEDDER=default for them."


class NullEmbedder:
    """An embedder that always raises EmbedderUnavailable with a reason."""

    space = SpaceIdentity(model="none", revision="0", dim=0, quantisation="none")
    max_tokens = 0

    def __init__(self, why: str = _NONE) -> None:
        self._why = why

    def embed_query(self, text: str) -> NoReturn:
        """Raise EmbedderUnavailable."""
        raise EmbedderUnavailable(self._why, is_lasting=True)

    def embed_passages(self, texts: Sequence[str]) -> NoReturn:
        """Raise EmbedderUnavailable."""
        raise EmbedderUnavailable(self._why, is_lasting=True)
