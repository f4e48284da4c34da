"""A hash embedder for tests: without a model or installation, with the same vectors everywhere."""

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from search.embedders.base import ANY_LANGUAGE, SpaceIdentity

_WORD = re.compile(r"\w+")


class HashEmbedder:
    """An embedder that adds +1 or -1 per word, at a component and with a sign from the word's hash."""

    max_tokens = 256

    def __init__(self, dim: int = 64) -> None:
        self.space = SpaceIdentity(
            model="hash", revision="1", dim=dim, quantisation="none", languages=(ANY_LANGUAGE,)
        )

    def embed_query(self, text: str) -> np.ndarray:
        """Return the vector of `text`, (dim,) float32 of length 1; the first axis without words."""
        vector = np.zeros(self.space.dim, np.float32)
        for word in _WORD.findall(text.casefold()):
            digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()
            number = int.from_bytes(digest, "big")
            vector[(number >> 1) % self.space.dim] += 1 if number & 1 else -1
        if not vector.any():
            vector[0] = 1
        return vector / np.linalg.norm(vector)

    def embed_passages(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of `texts`, (n, dim) float32 of length 1, in order."""
        vectors = np.empty((len(texts), self.space.dim), np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self.embed_query(text)
        return vectors
