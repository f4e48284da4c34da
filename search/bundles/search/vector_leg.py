"""The vector leg over a bundle: every stored vector is compared, so that it is exact, a row at a time."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import apsw
import numpy as np

from search.access.scope import Scope
from search.bundles.rows.vectors import ids_of, matrix_of
from search.embedders.base import Embedder
from search.retrieval.fusion.score_scales import vector_score
from search.retrieval.types import Candidate
from search.vectors.leg import VectorLeg
from search.vectors.spaces import LiveSpace
from search.vectors.vector_rows import MOST_PLACED

_OF_SPACE = "SELECT number, chunk_ids, body FROM bundle_vectors WHERE space = ? ORDER BY number"
_ROW = "SELECT chunk_ids, body FROM bundle_vectors WHERE number = ?"
# Compared as bytes; numpy drops zeros at the end of one, not of a slice.
_ID = np.dtype("S16")
_LANES = 8
# Candidates that are looked at under the filters at a time.
_BLOCK = 2_000

#: Gives those of some chunk ids that stand under the filters.
Standing = Callable[[Sequence[str]], Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Similarities:
    """How near the chunks of a space are to a query, in the order of their ids."""

    #: (n,) of 16 bytes each, ascending.
    ids: np.ndarray
    #: (n,) float64; NaN for a vector without a direction.
    values: np.ndarray
    #: The number of the row that each lies in.
    rows: np.ndarray

    def ranked(self) -> np.ndarray:
        """Return the places of those that have a direction, the nearest first, ties by id."""
        order = np.argsort(-self.values, kind="stable")
        return order[~np.isnan(self.values[order])]

    def place_of(self, chunk_id: str) -> int | None:
        """Return the place of a chunk, None for one without a vector."""
        wanted = bytes.fromhex(chunk_id)
        place = int(np.searchsorted(self.ids, np.frombuffer(wanted, _ID))[0])
        return place if place < len(self.ids) and self.id_at(place) == chunk_id else None

    def id_at(self, place: int) -> str:
        """Return the id, 32 hex digits, at a place."""
        return self.ids[place : place + 1].tobytes().hex()


class BundleVectors:
    """The vectors of one space of an open bundle."""

    def __init__(self, connection: apsw.Connection, space: LiveSpace) -> None:
        self._connection = connection
        self._space = space

    def similarities(self, vector: np.ndarray) -> Similarities:
        """Return how near each chunk is to `vector`, (dim,). Raises ValueError for what no export wrote."""
        asked = vector.astype(np.float16).astype(np.float32)
        ids, values, rows = [], [], []
        for number, chunk_ids, body in self._connection.execute(_OF_SPACE, (self._space.space_id,)):
            count = len(chunk_ids) // 16
            matrix = matrix_of(body, count=count, dim=self._space.dim).astype(np.float32)
            ids.append(np.frombuffer(chunk_ids, _ID))
            values.append(_cosines(matrix, asked))
            rows.append(np.full(count, number))
        if not ids:
            return Similarities(np.empty(0, _ID), np.empty(0), np.empty(0, np.int64))
        return Similarities(np.concatenate(ids), np.concatenate(values), np.concatenate(rows))

    def vector(self, number: int, chunk_id: str) -> np.ndarray:
        """Return the vector, (dim,) float32, of a chunk that lies in row `number`."""
        chunk_ids, body = self._connection.execute(_ROW, (number,)).fetchone()
        known = ids_of(chunk_ids)
        matrix = matrix_of(body, count=len(known), dim=self._space.dim)
        return matrix[known.index(uuid.UUID(hex=chunk_id))].astype(np.float32)


def _cosines(matrix: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Return the cosine of each row, as pgvector does to the last bit where the processor has F16C.

    It adds up products, which are exact, in single precision in eight lanes, then the lanes by halves, then
    what is left over (HalfvecCosineSimilarityF16c in halfutils.c, as GCC compiles it for x86-64): so ties,
    and the order of what is nearly one, are the same here.
    """
    products = (matrix * asked, matrix * matrix, (asked * asked)[None, :])
    dot, own, other = (_added(each).astype(np.float64) for each in products)
    with np.errstate(divide="ignore", invalid="ignore"):
        return 1.0 - (1.0 - np.clip(dot / np.sqrt(own * other), -1.0, 1.0))


def _added(products: np.ndarray) -> np.ndarray:
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
        standing: Standing,
        space: LiveSpace | None,
        scope: Scope,
        text: str,
        embedder: Embedder | None,
        *,
        is_fused: bool,
        is_compared: bool,
    ) -> None:
        """With `is_fused` and `is_compared` it does what `VectorLeg` does."""
        super().__init__(
            space, scope, text, embedder, minds_language=is_fused, is_compared=is_fused and is_compared
        )
        self._vectors = vectors
        self._standing = standing
        self._found: Similarities | None = None
        self._placed: set[str] = set()

    def search(self, limit: int) -> list[Candidate]:
        """Give up to `limit` candidates by cosine, then chunk id. Raises EmbedderUnavailable."""
        query_vector = self._query_vector()
        if query_vector is None or self._vectors is None:
            return []
        if self._found is None:
            self._found = self._vectors.similarities(query_vector)
        nearest = self._nearest(self._found, limit)
        if self._is_compared and limit <= MOST_PLACED:
            self._placed |= {each.chunk_id for each in nearest}
        return nearest

    def note_strangers(self, chunk_ids: Sequence[str]) -> None:
        """Note how near those are that other legs found, and where the first of them lie."""
        if self._found is None or not self._is_compared:
            return
        strangers = [id_ for id_ in chunk_ids if id_ not in self._placed]
        self._placed |= set(strangers[:MOST_PLACED])
        for id_ in strangers:
            place = self._found.place_of(id_)
            if place is not None and not np.isnan(self._found.values[place]):
                self._noted[id_] = float(self._found.values[place])

    def vectors(self, chunk_ids: Sequence[str]) -> dict[str, np.ndarray]:
        """Return the vectors, `(dim,)` each, of those of `chunk_ids` whose places were noted."""
        found: dict[str, np.ndarray] = {}
        for id_ in chunk_ids:
            place = None if self._found is None or id_ not in self._placed else self._found.place_of(id_)
            if place is not None and self._vectors is not None and self._found is not None:
                found[id_] = self._vectors.vector(int(self._found.rows[place]), id_)
        return found

    def _nearest(self, found: Similarities, limit: int) -> list[Candidate]:
        candidates: list[Candidate] = []
        order = found.ranked()
        for start in range(0, len(order), _BLOCK):
            places = order[start : start + _BLOCK].tolist()
            ids = [found.id_at(place) for place in places]
            standing = self._standing(ids)
            candidates += [
                Candidate(chunk_id=id_, score=vector_score(float(found.values[place])))
                for id_, place in zip(ids, places, strict=True)
                if id_ in standing
            ]
            if len(candidates) >= limit:
                break
        return candidates[:limit]
