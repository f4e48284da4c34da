"""The vectors of a bundle: an exact comparison with every stored one, one row of vectors at a time."""

from dataclasses import dataclass

import apsw
import numpy as np

from search.bundles.rows.vectors import parse_matrix
from search.retrieval.fusion.legs import ID, CheckVisible
from search.vectors.nearest import Nearest, QueryPoint
from search.vectors.quantised_scan import cosines
from search.vectors.spaces import LiveSpace

_OF_SPACE = "SELECT number, chunk_ids, body FROM bundle_vectors WHERE space = ? ORDER BY number"
_ROW = "SELECT chunk_ids, body FROM bundle_vectors WHERE number = ?"
# Number of candidates that are filtered at a time.
_FILTER_BATCH = 2_000


@dataclass(frozen=True, slots=True, eq=False)
class BundleVectors:
    """The vectors of one space of an open bundle, compared with one query."""

    connection: apsw.Connection
    space: LiveSpace
    #: (n,) ID, ascending.
    ids: np.ndarray
    #: (n,) float64, cosines; NaN for a vector without a direction.
    values: np.ndarray
    #: (n,) int64, the number of the row of each chunk.
    rows: np.ndarray

    @classmethod
    def compared(cls, connection: apsw.Connection, point: QueryPoint) -> "BundleVectors":
        """Compare all vectors of a space with a query. Raises ValueError for invalid rows."""
        ids, values, rows = [np.empty(0, ID)], [np.empty(0)], [np.empty(0, np.int64)]
        for number, chunk_ids, body in connection.execute(_OF_SPACE, (point.space.space_id,)):
            count = len(chunk_ids) // ID.itemsize
            matrix = parse_matrix(body, count=count, dim=point.space.dim).astype(np.float32)
            ids.append(np.frombuffer(chunk_ids, ID))
            values.append(cosines(matrix, point.half))
            rows.append(np.full(count, number))
        return cls(connection, point.space, np.concatenate(ids), np.concatenate(values), np.concatenate(rows))

    def nearest(self, limit: int, check_visible: CheckVisible) -> Nearest:
        """Return up to `limit` visible chunks, nearest first, ties by id."""
        order = np.argsort(-self.values, kind="stable")
        order = order[~np.isnan(self.values[order])]
        chosen = [order[:0]]
        for start in range(0, len(order), _FILTER_BATCH):
            batch = order[start : start + _FILTER_BATCH]
            chosen.append(batch[check_visible(self.ids[batch])])
            if sum(map(len, chosen)) >= limit:
                break
        nearest = np.concatenate(chosen)[:limit]
        return Nearest(self.ids[nearest], self.values[nearest], self)

    def similarities(self, ids: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Return the similarities, (m,) float64, of chunks to the query; NaN for one without a vector."""
        places = self._find(ids)
        return np.where(places >= 0, self.values[places], np.nan) if len(self.ids) else places * np.nan

    def vectors(self, ids: np.ndarray) -> np.ndarray:
        """Return the vectors of chunks, (m, dim) float32; zeros for one without a vector."""
        found = np.zeros((len(ids), self.space.dim), np.float32)
        for index, place in enumerate(self._find(ids).tolist()):
            if place >= 0:
                chunk_ids, body = self.connection.execute(_ROW, (int(self.rows[place]),)).get
                known = np.frombuffer(chunk_ids, ID)
                matrix = parse_matrix(body, count=len(known), dim=self.space.dim)
                found[index] = matrix[np.flatnonzero(known == ids[index])[0]]
        return found

    def _find(self, ids: np.ndarray) -> np.ndarray:
        if not len(self.ids):
            return np.full(len(ids), -1)
        places = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        return np.where(self.ids[places] == ids, places, -1)
