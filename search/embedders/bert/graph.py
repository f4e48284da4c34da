"""A local model as an ONNX graph: BERT with 12 heads, 384/1536; mean pooling; L2 norm.

With one sequence per run there is no padding, hence no attention mask, and one token type, whose embedding is
added to the positions'. Query, key and value are one product, which quantises its input once.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from search.embedders.bert.model import DIM, Damping, LocalModel

INPUT: Final = "tokens"
OUTPUT: Final = "embedding"
_HEADS = 12
_EPSILON = 1e-12
_OPSET = 17
_IR_VERSION = 8
# onnxruntime's own operators: its optimiser fuses plain ones too, but not with a joint product.
_CONTRIB = "com.microsoft"
_WORDS = "embeddings.word_embeddings.weight"


def build_graph(model: LocalModel) -> ModelProto:
    """Return the float32 graph, from n tokens to their vector, (1, 384) float32 of length 1.

    Tokens are (1, n) int64 numbers or (1, n, 384) float32, n from 1 to `max_tokens`. Raises:
    EmbedderUnavailable.
    """
    graph = _Graph(model.read_weights(), model.damping)
    hidden = _add_embedding(graph, model.max_tokens)
    for layer in range(model.layers):
        hidden = _add_feed_forward(graph, layer, _add_attention(graph, layer, hidden))
    mean = graph.add("ReduceMean", [hidden], "mean", axes=[1], keepdims=0)
    graph.add("LpNormalization", [mean], OUTPUT, axis=-1, p=2)
    return graph.model()


class _Graph:
    """A builder that collects nodes and constants; an output has its node's name."""

    def __init__(self, weights: Mapping[str, np.ndarray], damping: Damping) -> None:
        self.weights = weights
        self.damping = damping
        self._nodes: list[NodeProto] = []
        self._constants: list[TensorProto] = []

    def constant(self, name: str, values: np.ndarray) -> str:
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def add(self, operator: str, inputs: list[str], name: str, **attributes: Any) -> str:
        self._nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        return name

    def split(self, joint: str, names: list[str]) -> list[str]:
        sizes = self.constant(f"{joint}.sizes", np.full(len(names), DIM, np.int64))
        self._nodes.append(helper.make_node("Split", [joint, sizes], names, name=f"{joint}.split", axis=-1))
        return names

    def linear(
        self, hidden: str, name: str, weight: np.ndarray, bias: np.ndarray, damping: Mapping[int, int]
    ) -> str:
        """Add hidden @ weight + bias; `damping` channels of hidden are scaled down before the product."""
        scale = np.ones(len(weight), np.float32)
        scale[list(damping)] = list(damping.values())
        if damping:
            divisor = self.constant(f"{name}.damping", 1 / scale)
            hidden = self.add("Mul", [hidden, divisor], f"{name}.damped")
        weight_name = self.constant(f"{name}.weight", weight * scale[:, None])
        product = self.add("MatMul", [hidden, weight_name], f"{name}.product")
        return self.add("Add", [product, self.constant(f"{name}.bias", bias)], name)

    def layer_norm(self, hidden: str, residual: str, source: str, name: str) -> str:
        total = self.add("Add", [hidden, residual], f"{name}.sum")
        gamma = self.constant(f"{name}.gamma", self.weights[f"{source}.weight"])
        beta = self.constant(f"{name}.beta", self.weights[f"{source}.bias"])
        return self.add("LayerNormalization", [total, gamma, beta], name, axis=-1, epsilon=_EPSILON)

    def model(self) -> ModelProto:
        if _WORDS in self.weights:
            tokens = helper.make_tensor_value_info(INPUT, TensorProto.INT64, [1, "length"])
        else:
            tokens = helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, [1, "length", DIM])
        vector = helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, [1, DIM])
        graph = helper.make_graph(self._nodes, "bert", [tokens], [vector], self._constants)
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_CONTRIB, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)


def _add_embedding(graph: _Graph, max_tokens: int) -> str:
    weights, words = graph.weights, INPUT
    if _WORDS in weights:
        words = graph.add("Gather", [graph.constant("words", weights[_WORDS]), INPUT], "word_vectors")
    positions = weights["embeddings.position_embeddings.weight"][:max_tokens]
    token_type = weights["embeddings.token_type_embeddings.weight"][0]
    position_table = graph.constant("positions", positions + token_type)
    length = graph.add("Shape", [INPUT], "length", start=1, end=2)
    start = graph.constant("start", np.zeros(1, np.int64))
    position = graph.add("Slice", [position_table, start, length], "position_vectors")
    return graph.layer_norm(words, position, "embeddings.LayerNorm", "embedded")


def _add_attention(graph: _Graph, layer: int, hidden: str) -> str:
    source, name = f"encoder.layer.{layer}.attention", f"layer{layer}.attention"
    parts = [f"{source}.self.{part}" for part in ("query", "key", "value")]
    weight = np.concatenate([graph.weights[f"{part}.weight"].T for part in parts], axis=1)
    bias = np.concatenate([graph.weights[f"{part}.bias"] for part in parts])
    joint = graph.linear(hidden, f"{name}.joint", weight, bias, graph.damping.get((layer, "attention"), {}))
    query_key_value = graph.split(joint, [f"{name}.{part}" for part in ("query", "key", "value")])
    context = graph.add(
        "MultiHeadAttention", query_key_value, f"{name}.context", domain=_CONTRIB, num_heads=_HEADS
    )
    projected = _add_dense(graph, f"{source}.output.dense", context, f"{name}.projected", {})
    return graph.layer_norm(projected, hidden, f"{source}.output.LayerNorm", name)


def _add_feed_forward(graph: _Graph, layer: int, hidden: str) -> str:
    source, name = f"encoder.layer.{layer}", f"layer{layer}.feed_forward"
    into, out_of = graph.damping.get((layer, "intermediate"), {}), graph.damping.get((layer, "output"), {})
    wide = _add_dense(graph, f"{source}.intermediate.dense", hidden, f"{name}.wide", into)
    active = graph.add("Gelu", [wide], f"{name}.active", domain=_CONTRIB)
    narrow = _add_dense(graph, f"{source}.output.dense", active, f"{name}.narrow", out_of)
    return graph.layer_norm(narrow, hidden, f"{source}.output.LayerNorm", name)


def _add_dense(graph: _Graph, source: str, hidden: str, name: str, damping: Mapping[int, int]) -> str:
    weight, bias = graph.weights[f"{source}.weight"].T, graph.weights[f"{source}.bias"]
    return graph.linear(hidden, name, weight, bias, damping)
