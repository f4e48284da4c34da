"""The embedder `none`: search stays lexical."""

from collections.abc import Sequence
from typing import NoReturn

from search.embedders.base import SpaceIdentity
from search.retrieval.errors import EmbedderUnavailable


class AbsentEmbedder:
    """Embeds nothing and says why."""

    space = SpaceIdentity(model="none", revision="0", dim=0, quantisation="none")
    max_tokens = 0

    def embed_query(self, text: str) -> NoReturn:
        """Refuse. Raises: EmbedderUnavailable."""
        raise _unavailable()

    def embed_passages(self, texts: Sequence[str]) -> NoReturn:
        """Refuse. Raises: EmbedderUnavailable."""
        raise _unavailable()


def _unavailable() -> EmbedderUnavailable:
    return EmbedderUnavailable(
        "The embedder is `none`, so there are no vectors; set KEBAB_EMBEDDER=default for them."
    )
