"""Vectors as bytes: which of a space's are near a query, without asking PostgreSQL of each.

Eight bits a component, scaled by the largest of its vector: 100,000 vectors of 384 numbers take 39 MB, and
one product of integers for all of them 2 ms of one core, where PostgreSQL scans for 60. What comes out is a
similarity that is off by `error` at most; whoever has PostgreSQL compare all that may be among the best has
the best. Quantisation with a rescoring step, as in H. Jégou, R. Tavenard, M. Douze, L. Amsaleg, "Searching in
one billion vectors: re-rank with source coding", ICASSP 2011; the bound is that of the rounding here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from onnx import TensorProto, helper
from onnxruntime import InferenceSession

from search.embedders.minilm.session import session_options

ID_BYTES = 16
#: Vectors whose codes lie together, a component beside the same one of its neighbours.
BLOCK = 4_096
_MOST = 127
# Seven bits of the query's: with eight, processors without VNNI clip sums of products.
_MOST_OF_QUERY = 63
_ZERO = _MOST_OF_QUERY + 1
# Rounding errors are as good as random: a similarity's spread is their length by the root of the number of
# components. The largest of 51 million pairs of documentation and headings was 5.5 times that.
_SPREADS = 8.0


@dataclass(frozen=True, slots=True)
class CodeTable:
    """Some vectors of a space as bytes; `n` of them, of `dim` components, in `b` blocks."""

    #: (n, 16) uint8: the ids of their chunks.
    ids: np.ndarray
    #: (n,) float32: what a code of 1 stands for; 0 for a vector without a direction.
    scales: np.ndarray
    #: (n,) int32: the sum of the codes, by which the query's zero is taken off.
    sums: np.ndarray
    #: (b, dim, BLOCK) int8, the last block filled up with zeros.
    blocks: np.ndarray
    #: The longest of what rounding took off the vectors, each of length 1.
    residual: float

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def packed(cls, ids: np.ndarray, codes: np.ndarray, scales: np.ndarray, residual: float) -> "CodeTable":
        """Lay out codes, (n, dim) int8."""
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
    """How near the vectors of a space are to a query, to within `error`."""

    #: (n, 16) uint8.
    ids: np.ndarray
    #: (n,) float32.
    values: np.ndarray
    error: float

    def best(self, count: int) -> "Chosen":
        """Return all that may be among the best `count`."""
        least = -np.inf
        if count < len(self.values):
            least = float(np.partition(self.values, -count)[-count]) - 2 * self.error
        places = np.flatnonzero(self.values >= least)
        return Chosen(_texts(self.ids[places]), self.values[places], self.error, least + self.error)


@dataclass(frozen=True, slots=True)
class Chosen:
    """Those of the vectors of a space that are worth an exact look."""

    #: 32 hex digits each; one that was written anew may stand here twice.
    ids: Sequence[str]
    values: np.ndarray
    error: float
    #: A similarity that none of the others reaches.
    bound: float

    def is_borne_out_by(self, similarities: Mapping[str, float]) -> bool:
        """Return whether some of them, compared exactly, are as near as was thought.

        Else rounding is not random here. A few that were written anew may be elsewhere.
        """
        thought = dict(zip(self.ids, self.values.tolist(), strict=True))
        off = sum(abs(thought[id_] - exact) > self.error for id_, exact in similarities.items())
        return off <= len(similarities) // 4


def _texts(ids: np.ndarray) -> list[str]:
    text = ids.tobytes().hex()
    return [text[start : start + 2 * ID_BYTES] for start in range(0, len(text), 2 * ID_BYTES)]


@dataclass(frozen=True, slots=True)
class Codes:
    """All vectors of a space, and here and there one that is no more, in the order in which they came."""

    tables: tuple[CodeTable, ...]

    def __len__(self) -> int:
        return sum(map(len, self.tables))

    def near(self, vector: np.ndarray) -> Approximation:
        """Compare all with `vector`, (dim,) float32."""
        query = _Query.of(vector)
        residual = max((table.residual for table in self.tables), default=0.0)
        spread = float(np.hypot(residual, query.residual)) / len(vector) ** 0.5
        return Approximation(
            ids=_joined([table.ids for table in self.tables]),
            values=_joined([query.similarities(table) for table in self.tables]),
            error=_SPREADS * spread,
        )


def code_table(ids: np.ndarray, vectors: np.ndarray) -> CodeTable:
    """Return vectors, (n, dim) of any kind of float, as bytes; `ids` is (n, 16) uint8."""
    starts = range(0, len(vectors), BLOCK)
    codes, scales, residuals = zip(*(_coded(vectors[start : start + BLOCK]) for start in starts), strict=True)
    return CodeTable.packed(ids, _joined(codes), _joined(scales), max(residuals))


def stacked_tables(tables: Sequence[CodeTable]) -> CodeTable:
    """Return several tables as one, all but the last of whole blocks, which stay as they are."""
    return CodeTable(
        _joined([table.ids for table in tables]),
        _joined([table.scales for table in tables]),
        _joined([table.sums for table in tables]),
        _joined([table.blocks for table in tables]),
        max(table.residual for table in tables),
    )


def joined_tables(tables: Sequence[CodeTable]) -> CodeTable:
    """Return several tables of any size as one, their codes as they are."""
    return CodeTable.packed(
        _joined([table.ids for table in tables]),
        _joined([table.codes() for table in tables]),
        _joined([table.scales for table in tables]),
        max(table.residual for table in tables),
    )


def _coded(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the codes of vectors, what a code of 1 stands for in each, and the longest rest."""
    numbers = vectors.astype(np.float32)
    lengths = np.linalg.norm(numbers, axis=1, keepdims=True)
    numbers /= np.where(lengths > 0, lengths, 1)
    scales = np.abs(numbers).max(axis=1, keepdims=True) / _MOST
    codes = np.rint(numbers / np.where(scales > 0, scales, 1))
    residual = float(np.linalg.norm(numbers - codes * scales, axis=1).max())
    return codes.astype(np.int8), scales[:, 0], residual


@dataclass(frozen=True, slots=True)
class _Query:
    """A query's vector in seven bits a component."""

    #: (1, dim) uint8; `_ZERO` stands for 0.
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
        """Return the cosine of each vector of a table, about; (n,) float32."""
        products = _joined([_product(self.codes, block) for block in table.blocks])[: len(table)]
        return (products - _ZERO * table.sums) * (table.scales * np.float32(self.scale))


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _product(query: np.ndarray, block: np.ndarray) -> np.ndarray:
    """Return (1, dim) uint8 times (dim, n) int8, (n,) int32."""
    return _session().run(None, {"query": query, "block": block})[0][0]


@cache
def _session() -> InferenceSession:
    """Numpy has no fast product of bytes: its own takes twenty times as long."""
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
