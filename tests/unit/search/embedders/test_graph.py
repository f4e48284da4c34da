"""The float32 graph against a plain numpy model, and the int8 graph against it."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest

from search.embedders.bert.embedder import LocalEmbedder
from search.embedders.bert.english import DAMPING, ENGLISH
from search.embedders.bert.graph import build_graph
from search.embedders.bert.graph_file import graph_folder
from search.embedders.bert.model import STRIDE, LocalModel
from search.embedders.bert.multilingual import MULTILINGUAL, E5File, UnigramTokenizer
from search.embedders.bert.session import open_session

Forward = Callable[[str], np.ndarray]
_erf = np.vectorize(math.erf, otypes=[np.float32])


class NumpyBert:
    """The published model's forward pass (Devlin et al., 2019), independent of the graph."""

    def __init__(self, weights: Mapping[str, np.ndarray], layers: int) -> None:
        self.weights = weights
        self.layers = layers

    def __call__(self, ids: list[int]) -> np.ndarray:
        table = self.weights
        hidden = table["embeddings.word_embeddings.weight"][ids]
        hidden = hidden + table["embeddings.position_embeddings.weight"][: len(ids)]
        hidden = self._norm("embeddings", hidden + table["embeddings.token_type_embeddings.weight"][0])
        for layer in range(self.layers):
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
def numpy_bert(model: LocalModel, models_dir: Path) -> Forward:
    if model is ENGLISH:
        forward = NumpyBert(model.read_weights(), model.layers)
        encode = model.load_encoder(models_dir)
        return lambda text: forward(encode(text)[0].tolist())
    file = E5File(MULTILINGUAL.weights.verify())
    forward = NumpyBert({name: file.read(name) for name in file.names}, model.layers)
    tokenizer = UnigramTokenizer(
        graph_folder(model, models_dir), file.replacements, max_tokens=model.max_tokens
    )
    return lambda text: forward(tokenizer.token_ids(text))


@pytest.fixture(scope="module")
def exact_graph(model: LocalModel, models_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Forward:
    path = tmp_path_factory.mktemp("exact") / "exact.onnx"
    onnx.save_model(build_graph(model), path)
    encode, embed_one = model.load_encoder(graph_folder(model, models_dir)), open_session(path)
    return lambda text: embed_one(encode(text))


@pytest.mark.slow
def test_float32_graph_equals_the_numpy_model(exact_graph: Forward, numpy_bert: Forward):
    for text in ("", "one", "The quick brown fox. " * 3, "词 and wörd", "long " * 600):
        np.testing.assert_allclose(exact_graph(text), numpy_bert(text), atol=2e-5)


def test_shipped_reference_vectors_equal_the_numpy_model(model: LocalModel, numpy_bert: Forward):
    computed = [numpy_bert(sentence)[::STRIDE] for sentence in model.reference.sentences]
    np.testing.assert_allclose(computed, model.reference.components, atol=1e-5)


def test_int8_stays_close_to_float32(
    model: LocalModel, embedder: LocalEmbedder, exact_graph: Forward, sentences: tuple[str, ...]
):
    exact = np.stack([exact_graph(model.passage_prefix + sentence) for sentence in sentences])
    cosines = (embedder.embed_passages(sentences) * exact).sum(axis=1)
    assert cosines.mean() >= 0.994
    assert cosines.min() >= 0.98


def test_graph_has_exact_damping_factors_and_opset_17(model: LocalModel):
    factors = [factor for channels in DAMPING.values() for factor in channels.values()]
    assert {math.frexp(factor)[0] for factor in factors} == {0.5}
    graph = build_graph(model)
    assert (graph.ir_version, graph.opset_import[0].version) == (8, 17)
