"""Quantised vectors: approximate similarities of all vectors of a space to a query, without PostgreSQL.

A code has eight bits per component, scaled by the largest of its vector: 100,000 vectors of 384 components
take 39 MB, and one integer product with all of them takes 2 ms of one core, where PostgreSQL scans for 60.
The similarities are off by at most `error`; comparing the vectors of all that may be among the best gives the
exact result. Quantisation with a rescoring step, as in H. Jégou, R. Tavenard, M. Douze, L. Amsaleg,
"Searching in one billion vectors: re-rank with source coding", ICASSP 2011; the bound is that of the rounding
here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from onnxruntime import InferenceSession

from search.embedders.bert.session import session_options

_LANES = 8
#: An ONNX model of one MatMulInteger: products, (n, 1) int32, of codes, (n, dim) uint8, and a query, (dim, 1)
#: int8. Serialised, as the package that writes such models takes 7 MB of a web process.
PRODUCT_MODEL: Final = (
    b"\x08\t:u\n'\n\x05codes\n\x05query\x12\x08products\"\rMatMulInteger\x12\x04near"
    b"Z\x13\n\x05codes\x12\n\n\x08\x08\x02\x12\x04\n\x00\n\x00"
    b"Z\x15\n\x05query\x12\x0c\n\n\x08\x03\x12\x06\n\x00\n\x02\x08\x01"
    b"b\x18\n\x08products\x12\x0c\n\n\x08\x06\x12\x06\n\x00\n\x02\x08\x01B\x04\n\x00\x10\r"
)


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
_ZERO = 128
# Seven bits for the query: with eight, processors without VNNI clip sums of products.
_MOST_OF_QUERY = 63
# Rounding errors are practically random: the standard deviation of a similarity is their length divided by
# the root of the number of components. The largest error of 51 million pairs of documentation and headings
# was 5.5 times that.
_SPREADS = 8.0


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
    #: (n, dim) uint8; 128 stands for zero.
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
    #: (n,) float32.
    values: np.ndarray
    error: float

    def best(self, count: int) -> "Shortlist":
        """Return all vectors that may be among the best `count`."""
        least = -np.inf
        if count < len(self.values):
            least = float(np.partition(self.values, -count)[-count]) - 2 * self.error
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
        query = _Query.of(vector)
        residual = max((table.residual for table in self.tables), default=0.0)
        spread = float(np.hypot(residual, query.residual)) / len(vector) ** 0.5
        return Approximation(
            ids=_concatenate([table.ids for table in self.tables]),
            values=_concatenate([query.similarities(table) for table in self.tables]),
            error=_SPREADS * spread,
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
    return (codes + _ZERO).astype(np.uint8), scales[:, 0], residual


@dataclass(frozen=True, slots=True)
class _Query:
    """A query's vector in seven bits per component."""

    #: (dim, 1) int8.
    codes: np.ndarray
    scale: float
    residual: float

    @classmethod
    def of(cls, vector: np.ndarray) -> "_Query":
        unit = vector.astype(np.float32) / (float(np.linalg.norm(vector)) or 1.0)
        scale = float(np.abs(unit).max()) / _MOST_OF_QUERY or 1.0
        codes = np.rint(unit / scale)
        residual = float(np.linalg.norm(unit - codes * scale))
        return cls(codes.astype(np.int8)[:, None], scale, residual)

    def similarities(self, table: CodeTable) -> np.ndarray:
        """Return the approximate cosine of each vector of a table, (n,) float32."""
        products = _multiply(table.codes, self.codes) - _ZERO * self.codes.sum(dtype=np.int32)
        cosines: np.ndarray = products * (table.scales * np.float32(self.scale))
        return cosines


def _concatenate(parts: Sequence[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _multiply(codes: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Return the product of (n, dim) uint8 and (dim, 1) int8, (n,) int32."""
    products: np.ndarray = _product_session().run(None, {"codes": codes, "query": query})[0][:, 0]
    return products


@cache
def _product_session() -> InferenceSession:
    """Return an onnxruntime session for the product of bytes, which takes numpy twenty times as long.

    For a matrix of unsigned bytes and a column of signed ones, and for no other types or shapes, it has a
    function that reads the matrix as it is, instead of copying it into another order first.
    """
    return InferenceSession(PRODUCT_MODEL, session_options(), providers=["CPUExecutionProvider"])
