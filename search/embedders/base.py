"""What every embedder gives."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

#: stands in `SpaceIdentity.languages` for every language
ANY_LANGUAGE = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceIdentity:
    """What two vectors must share to be compared."""

    #: the model's published name
    model: str
    #: names weights, graph and quantisation: whatever changes a vector changes this
    revision: str
    #: components of a vector
    dim: int
    #: how weights and activations are stored, "none" for float32
    quantisation: str
    #: put before a query, or a passage, by the embedder itself
    query_prefix: str = ""
    passage_prefix: str = ""
    #: ISO 639-1 codes of what the model was trained for, or `ANY_LANGUAGE`; empty: none
    languages: tuple[str, ...] = ()

    def speaks(self, lang: str) -> bool:
        """Return whether texts in `lang` (an ISO 639-1 code) get meaningful vectors."""
        return ANY_LANGUAGE in self.languages or lang in self.languages


class Embedder(Protocol):
    """Turns texts into vectors of one space; safe to call from several threads."""

    @property
    def space(self) -> SpaceIdentity:
        """Return the space of its vectors, known before the model is loaded."""
        ...

    @property
    def max_tokens(self) -> int:
        """Tokens read of a text, the model's own marks included; the rest does not count."""
        ...

    def embed_query(self, text: str) -> np.ndarray:
        """Return the vector of a query, (dim,) float32 of length 1. Raises: EmbedderUnavailable."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> np.ndarray:
        """Return the passages' vectors, (n, dim) float32 of length 1, in order. Raises:
        EmbedderUnavailable.
        """
        ...
