"""The vector leg over a bundle: an exact scan of every stored vector, one row of vectors at a time."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import apsw
import numpy as np

from search.access.scope import SearchScope
from search.bundles.rows.vectors import parse_ids, parse_matrix
from search.embedders.base import Embedder
from search.retrieval.fusion.score_scales import vector_score
from search.retrieval.types import Candidate
from search.vectors.leg import VectorLeg
from search.vectors.spaces import LiveSpace
from search.vectors.vector_rows import MOST_PLACED

_OF_SPACE = "SELECT number, chunk_ids, body FROM bundle_vectors WHERE space = ? ORDER BY number"
_ROW = "SELECT chunk_ids, body FROM bundle_vectors WHERE number = ?"
# Compared as bytes; numpy drops trailing zeros of a single value, but not of a slice.
_ID = np.dtype("S16")
_LANES = 8
# Number of candidates that are filtered at a time.
_FILTER_BATCH = 2_000

#: Returns the given chunk ids that pass the filters.
VisibilityFilter = Callable[[Sequence[str]], Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Similarities:
    """Similarities of a space's chunks to a query, in the order of their ids."""

    #: (n,) of 16 bytes each, ascending.
    ids: np.ndarray
    #: (n,) float64; NaN for a vector without a direction.
    values: np.ndarray
    #: Number of the row of each chunk.
    rows: np.ndarray

    def ranked_indices(self) -> np.ndarray:
        """Return the indices of the chunks with a similarity, nearest first, ties by id."""
        order = np.argsort(-self.values, kind="stable")
        known: np.ndarray = order[~np.isnan(self.values[order])]
        return known

    def index_of(self, chunk_id: str) -> int | None:
        """Return the index of a chunk; None for a chunk without a vector."""
        wanted = bytes.fromhex(chunk_id)
        index = int(np.searchsorted(self.ids, np.frombuffer(wanted, _ID))[0])
        return index if index < len(self.ids) and self.id_at(index) == chunk_id else None

    def id_at(self, index: int) -> str:
        """Return the id, 32 hex digits, at an index."""
        return self.ids[index : index + 1].tobytes().hex()


class BundleVectors:
    """The vectors of one space of an open bundle."""

    def __init__(self, connection: apsw.Connection, space: LiveSpace) -> None:
        self._connection = connection
        self._space = space

    def similarities(self, vector: np.ndarray) -> Similarities:
        """Compute the similarity of each chunk to `vector`, (dim,). Raises ValueError for invalid rows."""
        query_vector = vector.astype(np.float16).astype(np.float32)
        ids, values, rows = [], [], []
        for number, chunk_ids, body in self._connection.execute(_OF_SPACE, (self._space.space_id,)):
            count = len(chunk_ids) // 16
            matrix = parse_matrix(body, count=count, dim=self._space.dim).astype(np.float32)
            ids.append(np.frombuffer(chunk_ids, _ID))
            values.append(_cosines(matrix, query_vector))
            rows.append(np.full(count, number))
        if not ids:
            return Similarities(np.empty(0, _ID), np.empty(0), np.empty(0, np.int64))
        return Similarities(np.concatenate(ids), np.concatenate(values), np.concatenate(rows))

    def vector(self, number: int, chunk_id: str) -> np.ndarray:
        """Return the vector, (dim,) float32, of a chunk in row `number`."""
        chunk_ids, body = self._connection.execute(_ROW, (number,)).get
        known = parse_ids(chunk_ids)
        matrix = parse_matrix(body, count=len(known), dim=self._space.dim)
        vector: np.ndarray = matrix[known.index(uuid.UUID(hex=chunk_id))].astype(np.float32)
        return vector


def _cosines(matrix: np.ndarray, query_vector: np.ndarray) -> np.ndarray:
    """Return the cosine of each row, equal to pgvector's to the last bit on processors with F16C.

    It adds the exact products in single precision in eight lanes, then the lanes by halves, then the
    remaining elements (HalfvecCosineSimilarityF16c in halfutils.c, as GCC compiles it for x86-64), so that
    ties and the order of near-ties are the same as in pgvector.
    """
    products = (matrix * query_vector, matrix * matrix, (query_vector * query_vector)[None, :])
    dot, own, other = (_sum_rows(each).astype(np.float64) for each in products)
    with np.errstate(divide="ignore", invalid="ignore"):
        return 1.0 - (1.0 - np.clip(dot / np.sqrt(own * other), -1.0, 1.0))


def _sum_rows(products: np.ndarray) -> np.ndarray:
    """Return the sum of each row of `products`, (n, dim) float32."""
    whole = products.shape[1] // _LANES * _LANES
    lanes = np.zeros((len(products), _LANES), np.float32)
    for start in range(0, whole, _LANES):
        lanes += products[:, start : start + _LANES]
    halves = lanes[:, :4] + lanes[:, 4:]
    pairs = halves[:, :2] + halves[:, 2:]
    total = pairs[:, 0] + pairs[:, 1]
    for column in products[:, whole:].T:
        total = total + column
    return total


class BundleVectorLeg(VectorLeg):
    """One query against the vectors of a bundle."""

    def __init__(
        self,
        vectors: BundleVectors | None,
        filter_visible: VisibilityFilter,
        space: LiveSpace | None,
        scope: SearchScope,
        text: str,
        embedder: Embedder | None,
        *,
        is_fused: bool,
        compares_candidates: bool,
    ) -> None:
        """With `is_fused` and `compares_candidates` the leg behaves like `VectorLeg`."""
        super().__init__(
            space,
            scope,
            text,
            embedder,
            requires_known_language=is_fused,
            compares_candidates=is_fused and compares_candidates,
        )
        self._vectors = vectors
        self._filter_visible = filter_visible
        self._found: Similarities | None = None
        self._recorded: set[str] = set()

    def search(self, limit: int) -> list[Candidate]:
        """Return up to `limit` candidates by cosine, then chunk id. Raises EmbedderUnavailable."""
        query_vector = self._query_vector()
        if query_vector is None or self._vectors is None:
            return []
        if self._found is None:
            self._found = self._vectors.similarities(query_vector)
        nearest = self._nearest(self._found, limit)
        if self._compares_candidates and limit <= MOST_PLACED:
            self._recorded |= {each.chunk_id for each in nearest}
        return nearest

    def score_candidates(self, chunk_ids: Sequence[str]) -> None:
        """Record the similarities of other legs' candidates, and mark the first of them for `vectors`."""
        if self._found is None or not self._compares_candidates:
            return
        unscored = [id_ for id_ in chunk_ids if id_ not in self._recorded]
        self._recorded |= set(unscored[:MOST_PLACED])
        for id_ in unscored:
            index = self._found.index_of(id_)
            if index is not None and not np.isnan(self._found.values[index]):
                self._similarities[id_] = float(self._found.values[index])

    def vectors(self, chunk_ids: Sequence[str]) -> dict[str, np.ndarray]:
        """Return the vectors, `(dim,)` each, of the recorded ones among `chunk_ids`."""
        found: dict[str, np.ndarray] = {}
        for id_ in chunk_ids:
            index = None if self._found is None or id_ not in self._recorded else self._found.index_of(id_)
            if index is not None and self._vectors is not None and self._found is not None:
                found[id_] = self._vectors.vector(int(self._found.rows[index]), id_)
        return found

    def _nearest(self, found: Similarities, limit: int) -> list[Candidate]:
        candidates: list[Candidate] = []
        order = found.ranked_indices()
        for start in range(0, len(order), _FILTER_BATCH):
            indices = order[start : start + _FILTER_BATCH].tolist()
            ids = [found.id_at(index) for index in indices]
            visible = self._filter_visible(ids)
            candidates += [
                Candidate(chunk_id=id_, score=vector_score(float(found.values[index])))
                for id_, index in zip(ids, indices, strict=True)
                if id_ in visible
            ]
            if len(candidates) >= limit:
                break
        return candidates[:limit]
