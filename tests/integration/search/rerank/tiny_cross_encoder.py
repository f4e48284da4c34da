"""A tiny cross-encoder for fastembed: its logit counts the words that both texts have."""

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
WORDS = ["apple", "banana", "cherry", "guide", "alpha", "beta", "gamma"]
#: The logit for no common word; each pair of equal words adds 1.
BASE = -1.5


def make_model(folder: Path, *, graph: str = "onnx/model.onnx") -> Path:
    """Write graph and tokenizer into `folder` as exporters do, and give the folder."""
    (folder / graph).parent.mkdir(parents=True, exist_ok=True)
    onnx.save(_graph(), folder / graph)
    _tokenizer().save(str(folder / "tokenizer.json"))
    config = {"model_max_length": 64, "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "config.json").write_text(json.dumps({"pad_token_id": 0}))
    return folder


def _tokenizer() -> Tokenizer:
    vocabulary = {word: number for number, word in enumerate(SPECIAL + WORDS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    return tokenizer


def _graph() -> onnx.ModelProto:
    """Build a graph whose logit is BASE plus the number of equal (query, passage) token pairs."""
    constants = {
        "last_special": np.array(len(SPECIAL) - 1, np.int64),
        "nought": np.array(0, np.int64),
        "one": np.array(1, np.int64),
        "base": np.array(BASE, np.float32),
        "axis_1": np.array([1], np.int64),
        "axis_2": np.array([2], np.int64),
        "axes": np.array([1, 2], np.int64),
    }
    nodes = [
        helper.make_node("Greater", ["input_ids", "last_special"], ["is_word"]),
        helper.make_node("Equal", ["token_type_ids", "nought"], ["is_of_query"]),
        helper.make_node("Equal", ["token_type_ids", "one"], ["is_of_passage"]),
        helper.make_node("Equal", ["attention_mask", "one"], ["is_there"]),
        helper.make_node("And", ["is_word", "is_there"], ["counts"]),
        helper.make_node("And", ["counts", "is_of_query"], ["query_word"]),
        helper.make_node("And", ["counts", "is_of_passage"], ["passage_word"]),
        helper.make_node("Unsqueeze", ["query_word", "axis_2"], ["rows"]),
        helper.make_node("Unsqueeze", ["passage_word", "axis_1"], ["columns"]),
        helper.make_node("Unsqueeze", ["input_ids", "axis_2"], ["id_rows"]),
        helper.make_node("Unsqueeze", ["input_ids", "axis_1"], ["id_columns"]),
        helper.make_node("Equal", ["id_rows", "id_columns"], ["same"]),
        helper.make_node("And", ["rows", "columns"], ["between"]),
        helper.make_node("And", ["same", "between"], ["common"]),
        helper.make_node("Cast", ["common"], ["ones"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["ones", "axes"], ["sums"], keepdims=0),
        helper.make_node("Add", ["sums", "base"], ["logits_flat"]),
        helper.make_node("Unsqueeze", ["logits_flat", "axis_1"], ["logits"]),
    ]
    shape = ["batch", "tokens"]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, shape)
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 1])
    stored = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "common-words", inputs, [output], stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model
