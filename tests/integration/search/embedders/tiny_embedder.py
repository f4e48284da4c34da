"""A text embedding model of one operator for fastembed: each token has a table row."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.integration.search.rerank.tiny_cross_encoder import SPECIAL, WORDS, make_model

DIM = 12


def make_embedding_model(folder: Path, *, graph: str = "onnx/model.onnx") -> Path:
    """Write graph and tokenizer into `folder` as exporters do, and give the folder."""
    make_model(folder, graph=graph)
    onnx.save(_graph(), folder / graph)
    return folder


def mean_of(*words: str) -> np.ndarray:
    """Return the model's vector for a text of these words, scaled to length 1."""
    tokens = ["[CLS]", *words, "[SEP]"]
    mean = np.mean([_table()[(SPECIAL + WORDS).index(token)] for token in tokens], axis=0)
    return mean / np.linalg.norm(mean)


def _table() -> np.ndarray:
    return np.random.default_rng(1).normal(size=(len(SPECIAL + WORDS), DIM)).astype(np.float32)


def _graph() -> onnx.ModelProto:
    shape = ["batch", "tokens"]
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])],
        "table",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, shape)],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*shape, DIM])],
        [numpy_helper.from_array(_table(), "table")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model
