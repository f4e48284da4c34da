"""The float32 graph against a plain numpy model, and the int8 graph against it."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from safetensors.numpy import load_file

from search.embedders.minilm.embedder import MiniLmEmbedder
from search.embedders.minilm.graph import build_graph
from search.embedders.minilm.reference import COMPONENTS, SENTENCES, STRIDE
from search.embedders.minilm.session import open_session
from search.embedders.minilm.smoothquant import DAMPING
from search.embedders.minilm.tokenizer import token_ids
from search.embedders.minilm.weights import WEIGHTS, verify_file

Forward = Callable[[list[int]], np.ndarray]
_erf = np.vectorize(math.erf, otypes=[np.float32])


class NumpyBert:
    """The published model's forward pass (Devlin et al., 2019), independent of the graph."""

    def __init__(self, weights: Mapping[str, np.ndarray]) -> None:
        self.weights = weights

    def __call__(self, ids: list[int]) -> np.ndarray:
        table = self.weights
        hidden = table["embeddings.word_embeddings.weight"][ids]
        hidden = hidden + table["embeddings.position_embeddings.weight"][: len(ids)]
        hidden = self._norm("embeddings", hidden + table["embeddings.token_type_embeddings.weight"][0])
        for layer in range(6):
            hidden = self._layer(f"encoder.layer.{layer}", hidden)
        mean = hidden.mean(axis=0)
        return mean / np.linalg.norm(mean)

    def _layer(self, name: str, hidden: np.ndarray) -> np.ndarray:
        context = self._context(f"{name}.attention.self", hidden)
        attended = self._linear(f"{name}.attention.output.dense", context)
        hidden = self._norm(f"{name}.attention.output", hidden + attended)
        wide = self._linear(f"{name}.intermediate.dense", hidden)
        active = wide * 0.5 * (1 + _erf(wide / math.sqrt(2)))
        return self._norm(f"{name}.output", hidden + self._linear(f"{name}.output.dense", active))

    def _context(self, name: str, hidden: np.ndarray) -> np.ndarray:
        query, key, value = (
            self._linear(f"{name}.{part}", hidden).reshape(len(hidden), 12, 32).swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(1, 2) / math.sqrt(32)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        return (weights @ value).swapaxes(0, 1).reshape(len(hidden), 384)

    def _linear(self, name: str, hidden: np.ndarray) -> np.ndarray:
        return hidden @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _norm(self, name: str, hidden: np.ndarray) -> np.ndarray:
        centred = hidden - hidden.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt(hidden.var(axis=-1, keepdims=True) + 1e-12)
        return scaled * self.weights[f"{name}.LayerNorm.weight"] + self.weights[f"{name}.LayerNorm.bias"]


@pytest.fixture(scope="module")
def weights(models_dir: Path) -> Mapping[str, np.ndarray]:
    return load_file(verify_file(WEIGHTS))


@pytest.fixture(scope="module")
def numpy_bert(weights: Mapping[str, np.ndarray]) -> Forward:
    return NumpyBert(weights)


@pytest.fixture(scope="module")
def exact_graph(weights: Mapping[str, np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> Forward:
    path = tmp_path_factory.mktemp("exact") / "exact.onnx"
    onnx.save_model(build_graph(weights), path)
    return open_session(path)


@pytest.mark.slow
def test_float32_graph_equals_the_numpy_model(exact_graph: Forward, numpy_bert: Forward):
    texts = ("", "one", "The quick brown fox. " * 3, "词 and wörd", "long " * 300)
    for ids in map(token_ids, texts):
        np.testing.assert_allclose(exact_graph(ids), numpy_bert(ids), atol=1e-5)


def test_shipped_reference_vectors_equal_the_numpy_model(numpy_bert: Forward):
    computed = [numpy_bert(token_ids(sentence))[::STRIDE] for sentence in SENTENCES]
    np.testing.assert_allclose(computed, COMPONENTS, atol=1e-5)


def test_int8_stays_close_to_float32(
    embedder: MiniLmEmbedder, exact_graph: Forward, sentences: tuple[str, ...]
):
    exact = np.stack([exact_graph(token_ids(sentence)) for sentence in sentences])
    cosines = (embedder.embed_passages(sentences) * exact).sum(axis=1)
    assert cosines.mean() >= 0.994
    assert cosines.min() >= 0.98


def test_graph_has_exact_damping_factors_and_opset_17(weights: Mapping[str, np.ndarray]):
    factors = [factor for channels in DAMPING.values() for factor in channels.values()]
    assert {math.frexp(factor)[0] for factor in factors} == {0.5}
    graph = build_graph(weights)
    assert (graph.ir_version, graph.opset_import[0].version) == (8, 17)
