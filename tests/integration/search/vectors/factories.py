"""Texts, ids and vectors for tests of vectors."""

import numpy as np

from kebab.identity.models import Workspace
from search.retrieval.fusion.legs import ID
from tests.support.corpus import write

WORDS = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "zeta",
    "eta",
    "theta",
    "iota",
    "kappa",
    "lambda",
    "mu",
]


def combinations(count: int) -> list[str]:
    """Return `count` texts of two words and a unique number."""
    return [f"{WORDS[n % 12]} {WORDS[n // 12 % 12]} number{n}" for n in range(count)]


def ids_of(count: int, first: int = 0) -> np.ndarray:
    """Return chunk ids, `(count,) ID`, in ascending order."""
    return np.arange(first, first + count, dtype=">u8").repeat(2).view(ID)


def random_vectors(count: int, dim: int = 384, seed: int = 1) -> np.ndarray:
    """Return vectors in random directions, `(count, dim) float16`."""
    return np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float16)


def clustered_vectors(count: int, dim: int = 384) -> np.ndarray:
    """Return clustered vectors, many about as near as the hundredth, `(count, dim) float16`."""
    heaps = random_vectors(20, dim, seed=2)[np.arange(count) % 20].astype(np.float32)
    return (heaps + 0.3 * random_vectors(count, dim, seed=3)).astype(np.float16)


def write_apples(workspace: Workspace) -> None:
    """Write 400 chunks, one in fifty in the rare source."""
    texts = [f"apple number{n} and word{n % 7}" for n in range(400)]
    write(workspace, "common.md", *texts[8:])
    write(workspace, "rare.md", *texts[:8], source="rare")
