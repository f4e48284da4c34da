"""The protocol of embedders, and the identity of their embedding spaces."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

#: the entry of `SpaceIdentity.languages` that means every language
ANY_LANGUAGE = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceIdentity:
    """The properties that two vectors must share to be comparable."""

    #: the model's published name
    model: str
    #: identifies weights, graph and quantisation: whatever changes a vector changes this
    revision: str
    #: number of components of a vector
    dim: int
    #: how weights and activations are stored, "none" for float32
    quantisation: str
    #: prefixes that the embedder itself puts before queries and passages
    query_prefix: str = ""
    passage_prefix: str = ""
    #: ISO 639-1 codes of the languages that the model was trained for, or `ANY_LANGUAGE`; empty for none
    languages: tuple[str, ...] = ()

    def speaks(self, lang: str) -> bool:
        """Return whether texts in `lang` (an ISO 639-1 code) get meaningful vectors."""
        return ANY_LANGUAGE in self.languages or lang in self.languages


class Embedder(Protocol):
    """An embedder turns texts into vectors of one space; safe to call from several threads."""

    @property
    def space(self) -> SpaceIdentity:
        """Return the space of its vectors, known before the model is loaded."""
        ...

    @property
    def max_tokens(self) -> int:
        """Return the number of tokens read of a text, with the model's own marks; the rest is ignored."""
        ...

    def embed_query(self, text: str) -> np.ndarray:
        """Return the vector of a query, (dim,) float32 of length 1. Raises: EmbedderUnavailable."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> np.ndarray:
        """Return vectors of passages, (n, dim) float32 of length 1, in order.

        Raises: EmbedderUnavailable.
        """
        ...


@runtime_checkable
class WordEmbedder(Protocol):
    """An embedder that gives the vectors of words, too."""

    def word_vectors(self, text: str) -> np.ndarray | None:
        """Return the vectors that the model begins with, (n, dim) float32, of n words or parts of them.

        None for a model without any that are comparable across languages. Raises: EmbedderUnavailable.
        """
        ...
