"""Embedders by name, the null embedder, and the hash embedder."""

import subprocess
import sys

import numpy as np
import pytest

from search.embedders.bert.embedder import LocalEmbedder
from search.embedders.hash_embedder import HashEmbedder
from search.embedders.null_embedder import NullEmbedder
from search.embedders.registry import create_embedder
from search.retrieval.errors import EmbedderUnavailable
from tests.support.paths import ROOT


def test_embedder_is_made_by_name(subtests, tmp_path):
    cases = [
        ("default", LocalEmbedder, "all-MiniLM-L6-v2"), ("english", LocalEmbedder, "all-MiniLM-L6-v2"),
        ("all-MiniLM-L6-v2", LocalEmbedder, "all-MiniLM-L6-v2"), ("hash", HashEmbedder, "hash"),
        ("multilingual", LocalEmbedder, "multilingual-e5-small"), ("none", NullEmbedder, "none"),
    ]  # fmt: skip
    for name, kind, model in cases:
        with subtests.test(name=name):
            embedder = create_embedder(name, models_dir=tmp_path, threads=1)
            assert type(embedder) is kind
            assert embedder.space.model == model
    with pytest.raises(EmbedderUnavailable, match=r"'word2vec'.*default, english, multilingual, hash, none"):
        create_embedder("word2vec", models_dir=tmp_path, threads=1)
    with pytest.raises(EmbedderUnavailable, match="KEBAB_EMBEDDER=default"):
        NullEmbedder().embed_query("text")
    with pytest.raises(EmbedderUnavailable, match="KEBAB_EMBEDDER=default"):
        NullEmbedder().embed_passages(["text"])
    assert not NullEmbedder.space.speaks("en")


def output_of(script):
    command = [sys.executable, "-c", script]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def test_hash_vectors_have_length_one_and_are_the_same_in_every_process(subtests):
    for text in ("", "!?", "word", "部署 \ud800", "a b " * 100):
        with subtests.test(text=text):
            vector = HashEmbedder(dim=16).embed_query(text)
            assert vector.shape == (16,)
            assert vector.dtype == np.float32
            assert np.linalg.norm(vector) == pytest.approx(1)
    module = "search.embedders.hash_embedder"
    script = f"from {module} import HashEmbedder as E; print(E().embed_query('a b c').tolist())"
    assert output_of(script) == str(HashEmbedder().embed_query("a b c").tolist())
    embedder = HashEmbedder()
    query = embedder.embed_query("rotate the access token")
    near, far = embedder.embed_passages(["How to rotate an access token", "Bread rises because of yeast"])
    assert query @ near > query @ far + 0.3


def test_embedders_load_neither_django_nor_onnx(subtests):
    light = (
        "from search.embedders.registry import create_embedder as make;"
        "[make(n, models_dir=pathlib.Path(), threads=1) for n in ('hash', 'none')];"
        "import search.embedders.bert.tokenizer, search.embedders.cache;"
    )
    for script, unwanted in (
        (light, {"django", "onnx", "onnxruntime"}),
        ("import search.embedders.bert.embedder;", {"django", "onnx", "safetensors"}),
    ):
        with subtests.test(script=script):
            assert (
                output_of(f"import sys, pathlib; {script} print(sorted({unwanted} & set(sys.modules)))")
                == "[]"
            )
