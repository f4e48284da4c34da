"""Quantised vectors: approximate similarities of all vectors of a space to a query, without PostgreSQL.

A code has eight bits per component, scaled by the largest of its vector: 100,000 vectors of 384 components
take 39 MB, and one integer product with all of them takes 2 ms of one core, where PostgreSQL scans for 60.
The similarities are off by at most `error`; comparing all that may be among the best in PostgreSQL gives the
exact result. Quantisation with a rescoring step, as in H. Jégou, R. Tavenard, M. Douze, L. Amsaleg,
"Searching in one billion vectors: re-rank with source coding", ICASSP 2011; the bound is that of the rounding
here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from onnx import TensorProto, helper
from onnxruntime import InferenceSession

from search.embedders.minilm.session import session_options

ID_BYTES = 16
#: Vectors per block; a block stores its codes component by component.
BLOCK = 4_096
_MOST = 127
# Seven bits for the query: with eight, processors without VNNI clip sums of products.
_MOST_OF_QUERY = 63
_ZERO = _MOST_OF_QUERY + 1
# Rounding errors are practically random: the standard deviation of a similarity is their length divided by
# the root of the number of components. The largest error of 51 million pairs of documentation and headings
# was 5.5 times that.
_SPREADS = 8.0


@dataclass(frozen=True, slots=True)
class CodeTable:
    """The codes of some vectors of a space: `n` vectors of `dim` components, in `b` blocks."""

    #: (n, 16) uint8: the ids of their chunks.
    ids: np.ndarray
    #: (n,) float32: the value of a code of 1; 0 for a zero vector.
    scales: np.ndarray
    #: (n,) int32: the sum of the codes, to subtract the query's zero point.
    sums: np.ndarray
    #: (b, dim, BLOCK) int8, the last block padded with zeros.
    blocks: np.ndarray
    #: The largest norm of the rounding errors of the vectors, which are normalised.
    residual: float

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def from_codes(
        cls, ids: np.ndarray, codes: np.ndarray, scales: np.ndarray, residual: float
    ) -> "CodeTable":
        """Create a table from codes, (n, dim) int8."""
        starts = range(0, len(codes), BLOCK)
        blocks = np.zeros((len(starts), codes.shape[1], BLOCK), np.int8)
        for block, start in zip(blocks, starts, strict=True):
            block[:, : len(codes) - start] = codes[start : start + BLOCK].T
        return cls(ids, scales, codes.sum(axis=1, dtype=np.int32), blocks, residual)

    def codes(self) -> np.ndarray:
        """Return the codes, (n, dim) int8."""
        return self.blocks.transpose(0, 2, 1).reshape(-1, self.blocks.shape[1])[: len(self)]


@dataclass(frozen=True, slots=True)
class Approximation:
    """Approximate similarities of the vectors of a space to a query, to within `error`."""

    #: (n, 16) uint8.
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
        return Shortlist(_hex_ids(self.ids[places]), self.values[places], self.error, least + self.error)


@dataclass(frozen=True, slots=True)
class Shortlist:
    """The vectors of a space to compare exactly."""

    #: 32 hex digits each; a vector that was written again may occur twice.
    ids: Sequence[str]
    values: np.ndarray
    error: float
    #: An upper bound of the similarity of all other vectors.
    bound: float

    def is_confirmed_by(self, similarities: Mapping[str, float]) -> bool:
        """Return whether exact similarities of some of them are within `error` of the approximate ones.

        Otherwise rounding is not random in this space. A quarter may differ, as vectors written again do.
        """
        estimates = dict(zip(self.ids, self.values.tolist(), strict=True))
        off = sum(abs(estimates[id_] - exact) > self.error for id_, exact in similarities.items())
        return bool(off <= len(similarities) // 4)


def _hex_ids(ids: np.ndarray) -> list[str]:
    text = ids.tobytes().hex()
    return [text[start : start + 2 * ID_BYTES] for start in range(0, len(text), 2 * ID_BYTES)]


@dataclass(frozen=True, slots=True)
class Codes:
    """The codes of all vectors of a space in the order of insertion, with a few deleted ones."""

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


def encode_vectors(ids: np.ndarray, vectors: np.ndarray) -> CodeTable:
    """Return the codes of vectors, (n, dim) of any float type; `ids` is (n, 16) uint8."""
    starts = range(0, len(vectors), BLOCK)
    codes, scales, residuals = zip(
        *(_quantise(vectors[start : start + BLOCK]) for start in starts), strict=True
    )
    return CodeTable.from_codes(ids, _concatenate(codes), _concatenate(scales), max(residuals))


def stack_tables(tables: Sequence[CodeTable]) -> CodeTable:
    """Concatenate tables of whole blocks, except for the last; the blocks are unchanged."""
    return CodeTable(
        _concatenate([table.ids for table in tables]),
        _concatenate([table.scales for table in tables]),
        _concatenate([table.sums for table in tables]),
        _concatenate([table.blocks for table in tables]),
        max(table.residual for table in tables),
    )


def merge_tables(tables: Sequence[CodeTable]) -> CodeTable:
    """Merge tables of any size into one, with unchanged codes in new blocks."""
    return CodeTable.from_codes(
        _concatenate([table.ids for table in tables]),
        _concatenate([table.codes() for table in tables]),
        _concatenate([table.scales for table in tables]),
        max(table.residual for table in tables),
    )


def _quantise(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the codes of vectors, their scales, and the largest norm of the rounding errors."""
    numbers = vectors.astype(np.float32)
    lengths = np.linalg.norm(numbers, axis=1, keepdims=True)
    numbers /= np.where(lengths > 0, lengths, 1)
    scales = np.abs(numbers).max(axis=1, keepdims=True) / _MOST
    codes = np.rint(numbers / np.where(scales > 0, scales, 1))
    residual = float(np.linalg.norm(numbers - codes * scales, axis=1).max())
    return codes.astype(np.int8), scales[:, 0], residual


@dataclass(frozen=True, slots=True)
class _Query:
    """A query's vector in seven bits per component."""

    #: (1, dim) uint8; `_ZERO` is the zero point.
    codes: np.ndarray
    scale: float
    residual: float

    @classmethod
    def of(cls, vector: np.ndarray) -> "_Query":
        unit = vector.astype(np.float32) / (float(np.linalg.norm(vector)) or 1.0)
        scale = float(np.abs(unit).max()) / _MOST_OF_QUERY or 1.0
        codes = np.rint(unit / scale)
        residual = float(np.linalg.norm(unit - codes * scale))
        return cls((codes + _ZERO).astype(np.uint8)[None, :], scale, residual)

    def similarities(self, table: CodeTable) -> np.ndarray:
        """Return the approximate cosine of each vector of a table, (n,) float32."""
        products = _concatenate([_product(self.codes, block) for block in table.blocks])[: len(table)]
        cosines: np.ndarray = (products - _ZERO * table.sums) * (table.scales * np.float32(self.scale))
        return cosines


def _concatenate(parts: Sequence[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _product(query: np.ndarray, block: np.ndarray) -> np.ndarray:
    """Return the product of (1, dim) uint8 and (dim, n) int8, (n,) int32."""
    product: np.ndarray = _product_session().run(None, {"query": query, "block": block})[0][0]
    return product


@cache
def _product_session() -> InferenceSession:
    """Return an onnxruntime session for the product of bytes, which takes numpy twenty times as long."""
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["query", "block"], ["products"])],
        "near",
        [
            helper.make_tensor_value_info("query", TensorProto.UINT8, [1, None]),
            helper.make_tensor_value_info("block", TensorProto.INT8, [None, None]),
        ],
        [helper.make_tensor_value_info("products", TensorProto.INT32, [1, None])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=9)
    return InferenceSession(model.SerializeToString(), session_options(), providers=["CPUExecutionProvider"])
