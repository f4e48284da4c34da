"""Quantised vectors: approximate similarities of all vectors of a space to a query, without PostgreSQL.

A code has eight bits per component, scaled by the largest of its vector: 100,000 vectors of 384 components
take 39 MB, and the integer products with all of them take 1.5 ms of one core, where PostgreSQL scans for 60.
The similarities are off by at most `error`; comparing the vectors of all that may be among the best gives the
exact result. Quantisation with a rescoring step, as in H. Jégou, R. Tavenard, M. Douze, L. Amsaleg,
"Searching in one billion vectors: re-rank with source coding", ICASSP 2011; the bound is that of the rounding
here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import simsimd

_LANES = 8


def cosines(matrix: np.ndarray, query_vector: np.ndarray, squares: np.ndarray | None = None) -> np.ndarray:
    """Return the cosine of each row of `matrix`, (n, dim), and `query_vector`, (dim,); NaN for a zero vector.

    Both are float32 numbers that half precision has; `squares` are those of the rows, by `sum_squares`. The
    result, (n,) float64, is pgvector's on processors with F16C: it adds the exact products in single
    precision in eight lanes, then the lanes by halves, then the remaining elements
    (HalfvecCosineSimilarityF16c in halfutils.c, as GCC compiles it for x86-64), so that ties and the order of
    near-ties are the same.
    """
    dot = _sum_rows(matrix * query_vector).astype(np.float64)
    own = (sum_squares(matrix) if squares is None else squares).astype(np.float64)
    other = sum_squares(query_vector[None, :]).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: np.ndarray = 1.0 - (1.0 - np.clip(dot / np.sqrt(own * other), -1.0, 1.0))
    return found


def sum_squares(matrix: np.ndarray) -> np.ndarray:
    """Return the sum of the squares of each row of `matrix`, (n, dim) float32; (n,) float32."""
    return _sum_rows(matrix * matrix)


def _sum_rows(products: np.ndarray) -> np.ndarray:
    """Return the sum of each row of `products`, (n, dim) float32."""
    count, dim = products.shape
    whole = dim // _LANES * _LANES
    # A sum over the first axis adds one slice after the other.
    slices = products[:, :whole].reshape(count, whole // _LANES, _LANES).transpose(1, 0, 2)
    lanes = np.add.reduce(np.ascontiguousarray(slices), axis=0)
    halves = lanes[:, :4] + lanes[:, 4:]
    pairs = halves[:, :2] + halves[:, 2:]
    total: np.ndarray = pairs[:, 0] + pairs[:, 1]
    for column in products[:, whole:].T:
        total = total + column
    return total


#: Vectors that are encoded at a time.
BATCH = 4_096
_MOST = 127
# Rounding errors are practically random: the standard deviation of a similarity is their length divided by
# the root of the number of components. The largest error of 51 million pairs of documentation and headings
# was 5.5 times that.
_SPREADS = 8.0
# Parts of a space per vector asked for, whose largest values tell which are too small: a fifth of the time.
_PARTS = 32


@dataclass(frozen=True, slots=True)
class CodeTable:
    """Some vectors of a space and their codes: `n` vectors of `dim` components."""

    #: (n,) ID, ascending: the ids of their chunks.
    ids: np.ndarray
    #: (n, dim) float16.
    vectors: np.ndarray
    #: (n,) float32: the sums of their squares.
    squares: np.ndarray
    #: (n,) float32: the value of a code of 1; 0 for a zero vector.
    scales: np.ndarray
    #: (n, dim) int8.
    codes: np.ndarray
    #: The largest norm of the rounding errors of the vectors, which are normalised.
    residual: float

    def __len__(self) -> int:
        return len(self.ids)

    def find(self, ids: np.ndarray) -> np.ndarray:
        """Return the places of chunks in the table, (m,) int64; -1 for those of others."""
        places = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        return np.where(self.ids[places] == ids, places, -1)


@dataclass(frozen=True, slots=True)
class Approximation:
    """Approximate similarities of the vectors of a space to a query, to within `error`."""

    #: (n,) ID.
    ids: np.ndarray
    #: (n,) float64.
    values: np.ndarray
    error: float

    def best(self, count: int) -> "Shortlist":
        """Return all vectors that may be among the best `count`."""
        least, values, parts = -np.inf, self.values, _PARTS * count
        if 0 < parts < len(values):
            # In as many parts as are asked for the largest value is this large: at least so many are.
            maxima = values[: len(values) // parts * parts].reshape(-1, parts).max(axis=0)
            values = values[values >= np.partition(maxima, -count)[-count]]
        if count < len(values):
            least = float(np.partition(values, -count)[-count]) - 2 * self.error
        places = np.flatnonzero(self.values >= least)
        return Shortlist(self.ids[places], self.values[places], self.error, least + self.error)


@dataclass(frozen=True, slots=True)
class Shortlist:
    """The vectors of a space to compare exactly."""

    #: (m,) ID; a vector that was written again may occur twice.
    ids: np.ndarray
    values: np.ndarray
    error: float
    #: An upper bound of the similarity of all other vectors.
    bound: float

    def is_confirmed_by(self, similarities: np.ndarray) -> bool:
        """Return whether their exact similarities, (m,) float64, are within `error` of the approximate ones.

        Otherwise rounding is not random in this space. A quarter may differ, as vectors written again do.
        """
        off = np.count_nonzero(np.abs(self.values - similarities) > self.error)
        return bool(off <= len(similarities) // 4)


@dataclass(frozen=True, slots=True)
class Codes:
    """The vectors of a space, in tables from the oldest to the latest, with a few deleted ones."""

    tables: tuple[CodeTable, ...]

    def __len__(self) -> int:
        return sum(map(len, self.tables))

    def near(self, vector: np.ndarray) -> Approximation:
        """Return the approximate similarities of all vectors to `vector`, (dim,) float32."""
        query, (scale,), own_residual = _quantise(vector[None].astype(np.float32))
        residual = max((table.residual for table in self.tables), default=0.0)
        values = [
            np.asarray(simsimd.cdist(query, table.codes, "dot"))[0] * (table.scales * scale)
            for table in self.tables
        ]
        return Approximation(
            ids=_concatenate([table.ids for table in self.tables]),
            values=_concatenate(values),
            error=_SPREADS * float(np.hypot(residual, own_residual)) / len(vector) ** 0.5,
        )

    def similarities(self, ids: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Return the exact similarities of chunks to `vector`, (dim,) float32 of half precision.

        (m,) float64, NaN for chunks without a vector, or with a zero vector.
        """
        found = np.full(len(ids), np.nan)
        for table, mine, places in self._locate(ids):
            rows = table.vectors[places].astype(np.float32)
            found[mine] = cosines(rows, vector, table.squares[places])
        return found

    def vectors(self, ids: np.ndarray) -> np.ndarray:
        """Return the vectors of chunks, (m, dim) float32; zeros for chunks without one."""
        found = np.zeros((len(ids), self.tables[0].vectors.shape[1]), np.float32)
        for table, mine, places in self._locate(ids):
            found[mine] = table.vectors[places]
        return found

    def _locate(self, ids: np.ndarray) -> Iterator[tuple[CodeTable, np.ndarray, np.ndarray]]:
        """Yield tables, the indexes of the `ids` whose latest vectors they have, and the places of these."""
        unfound = np.arange(len(ids))
        for table in reversed(self.tables):
            places = table.find(ids[unfound])
            has = places >= 0
            if has.any():
                yield table, unfound[has], places[has]
            unfound = unfound[~has]


def encode_vectors(ids: np.ndarray, vectors: np.ndarray) -> CodeTable:
    """Return a table of vectors, (n, dim) float16, with their codes; `ids` is (n,) ID, each once."""
    if not (ids[:-1] < ids[1:]).all():
        order = np.argsort(ids)
        ids, vectors = ids[order], vectors[order]
    codes, scales, squares, residuals = [], [], [], []
    for start in range(0, len(vectors), BATCH):
        numbers = vectors[start : start + BATCH].astype(np.float32)
        squares.append(sum_squares(numbers))
        code, scale, residual = _quantise(numbers)
        codes.append(code)
        scales.append(scale)
        residuals.append(residual)
    return CodeTable(
        ids=ids,
        vectors=vectors,
        squares=_concatenate(squares),
        scales=_concatenate(scales),
        codes=_concatenate(codes),
        residual=max(residuals),
    )


def merge_tables(tables: Sequence[CodeTable]) -> CodeTable:
    """Merge tables of any size, the latest last, into one with the latest vector of each chunk."""
    ids = np.concatenate([table.ids for table in tables[::-1]])
    vectors = np.concatenate([table.vectors for table in tables[::-1]])
    _, first = np.unique(ids, return_index=True)
    return encode_vectors(ids[first], vectors[first])


def _quantise(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the codes of vectors, float32, their scales, and the largest norm of the rounding errors."""
    lengths = np.linalg.norm(numbers, axis=1, keepdims=True)
    numbers = numbers / np.where(lengths > 0, lengths, 1)
    scales = np.abs(numbers).max(axis=1, keepdims=True) / _MOST
    codes = np.rint(numbers / np.where(scales > 0, scales, 1))
    residual = float(np.linalg.norm(numbers - codes * scales, axis=1).max())
    return codes.astype(np.int8), scales[:, 0], residual


def _concatenate(parts: Sequence[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
