"""The embedder `none`: search stays lexical. Also what stands for one that can't be made."""

from collections.abc import Sequence
from typing import NoReturn

from search.embedders.base import SpaceIdentity
from search.retrieval.errors import EmbedderUnavailable

_NONE = "The embedder is `none`, so there are no vectors; set KEBAB_EMBEDDER=default for them."


class AbsentEmbedder:
    """Embeds nothing and says why."""

    space = SpaceIdentity(model="none", revision="0", dim=0, quantisation="none")
    max_tokens = 0

    def __init__(self, why: str = _NONE) -> None:
        self._why = why

    def embed_query(self, text: str) -> NoReturn:
        """Refuse. Raises: EmbedderUnavailable."""
        raise EmbedderUnavailable(self._why, is_lasting=True)

    def embed_passages(self, texts: Sequence[str]) -> NoReturn:
        """Refuse. Raises: EmbedderUnavailable."""
        raise EmbedderUnavailable(self._why, is_lasting=True)
