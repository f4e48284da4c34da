"""Vectors of single chunks, read from PostgreSQL when they are needed."""

import uuid

import numpy as np

from search.vectors.cosines import cosines
from search.vectors.quantised_rows import read_some_rows
from search.vectors.spaces import LiveSpace


class StoredVectors:
    """The vectors of a space, for one query; each is read once."""

    def __init__(self, workspace_id: uuid.UUID, space: LiveSpace) -> None:
        self._workspace_id = workspace_id
        self._space = space
        self._known: dict[bytes, np.ndarray] = {}

    def similarities(self, ids: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Return the similarities, (m,) float64, of chunks to `vector`; NaN for one without a vector."""
        return cosines(self.vectors(ids), vector)

    def vectors(self, ids: np.ndarray) -> np.ndarray:
        """Return the vectors of chunks, (m, dim) float32; zeros for one without a vector."""
        none = np.zeros(self._space.dim, np.float16)
        wanted = ids.tolist()
        missing = ids[[id_ not in self._known for id_ in wanted]] if wanted else ids
        if len(missing):
            self._known |= dict.fromkeys(missing.tolist(), none)
            rows = read_some_rows(self._workspace_id, self._space, missing)
            self._known.update(zip(rows.ids.tolist(), rows.vectors, strict=True))
        found = [self._known[id_] for id_ in wanted]
        return np.array(found, np.float32).reshape(len(ids), self._space.dim)
