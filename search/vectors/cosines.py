"""Cosine similarities of stored vectors, equal to pgvector's to the last bit."""

import numpy as np

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
