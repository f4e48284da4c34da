"""Models that fastembed runs: a real, tiny one from a folder, and published ones by name."""

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import numpy as np
import pytest

from search.embedders import fastembed_model
from search.embedders.registry import create_embedder
from search.retrieval.errors import EmbedderUnavailable
from tests.integration.search.embedders.tiny_embedder import DIM, make_embedding_model, mean_of

_names = count(1)


@pytest.fixture
def tiny(tmp_path):
    """Return a function that makes an embedder of the tiny model, under a name of its own."""

    def make(*options):
        folder = make_embedding_model(tmp_path / "tiny")
        text = "&".join([f"fastembed:acme/tiny-{next(_names)}?folder={folder}", f"dim={DIM}", *options])
        return create_embedder(text, models_dir=tmp_path / "models", threads=2)

    return make


def test_texts_get_vectors_of_length_one_in_their_order_without_the_network(tiny, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a connection was asked for")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    embedder = tiny()
    vectors = embedder.embed_passages(["apple", "banana cherry", "apple apple guide"])
    wanted = [mean_of("apple"), mean_of("banana", "cherry"), mean_of("apple", "apple", "guide")]
    assert vectors.dtype == np.float32
    assert np.allclose(vectors, wanted, atol=1e-5)
    assert np.allclose(embedder.embed_query("apple"), mean_of("apple"), atol=1e-5)
    assert embedder.embed_passages([]).shape == (0, DIM)


def test_prefixes_are_put_before_queries_and_passages(tiny):
    embedder = tiny("query_prefix=guide+", "passage_prefix=alpha+beta+")
    assert np.allclose(embedder.embed_query("apple"), mean_of("guide", "apple"), atol=1e-5)
    (vector,) = embedder.embed_passages(["apple"])
    assert np.allclose(vector, mean_of("alpha", "beta", "apple"), atol=1e-5)
    assert (embedder.space.query_prefix, embedder.space.passage_prefix) == ("guide ", "alpha beta ")


def test_vector_of_a_text_is_independent_of_its_batch_and_long_text_is_cut(tiny):
    embedder = tiny("max_tokens=16")
    alone = embedder.embed_passages(["apple"])[0]
    beside = embedder.embed_passages(["banana " * 30, "apple", ""])[1]
    assert (alone == beside).all()
    for text in ("", "\ud800", "\x00", "部署"):
        assert np.linalg.norm(embedder.embed_query(text)) == pytest.approx(1, abs=1e-5)
    long = embedder.embed_query("apple " * 14 + "banana " * 30)
    assert np.allclose(long, mean_of(*["apple"] * 14), atol=1e-5)
    assert embedder.max_tokens == 16


def test_space_of_a_model_is_known_without_loading_it(tiny, tmp_path):
    embedder = tiny("languages=en,de")
    assert embedder._model is None
    assert embedder.space.model.startswith("acme/tiny-")
    assert embedder.space.revision.endswith("/onnx/model.onnx")
    assert (embedder.space.dim, embedder.space.languages) == (DIM, ("en", "de"))

    known = create_embedder("fastembed:baai/BGE-small-en-v1.5", models_dir=tmp_path, threads=1).space
    assert (known.model, known.dim, known.languages) == ("BAAI/bge-small-en-v1.5", 384, ("en",))
    assert known.query_prefix.startswith("Represent this sentence")


def test_model_that_is_missing_broken_or_of_another_dimension_is_refused(tiny, tmp_path):
    other, broken = (make_embedding_model(tmp_path / name) for name in ("other", "broken"))
    (broken / "onnx/model.onnx").write_bytes(b"no graph")
    for text, message, is_lasting in [
        ("acme/unknown", "acme/unknown", True),
        ("acme/unknown?folder=/nowhere&dim=3", "onnx/model.onnx", True),
        ("acme/unknown?folder=/nowhere", "dim=NUMBER", True),
        (f"acme/tiny-{next(_names)}?folder={other}&dim=13", "13 components", True),
        (f"acme/tiny-{next(_names)}?folder={broken}&dim={DIM}", "InvalidProtobuf", False),
    ]:
        with pytest.raises(EmbedderUnavailable, match=message) as caught:
            create_embedder(f"fastembed:{text}", models_dir=tmp_path, threads=1).embed_query("apple")
        assert caught.value.is_lasting is is_lasting


@pytest.fixture
def without_network(monkeypatch):
    """Block name resolution and shorten the pauses of downloaders; return the names asked for."""
    asked = []

    def refuse(*args, **kwargs):
        asked.append(args[0])
        raise socket.gaierror("no network")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr("fastembed.common.model_management.time.sleep", lambda seconds: None)
    return asked


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_missing_network_is_reported_with_the_remedy_and_retried_rarely(without_network, tmp_path):
    embedder = create_embedder("fastembed:BAAI/bge-small-en-v1.5", models_dir=tmp_path, threads=1)
    with pytest.raises(EmbedderUnavailable, match=r"\?folder=PATH") as caught:
        embedder.embed_query("apple")
    assert not caught.value.is_lasting
    tries = len(without_network)
    assert tries > 0
    for embed in (embedder.embed_query, lambda text: embedder.embed_passages([text])):
        with pytest.raises(EmbedderUnavailable, match=r"\?folder=PATH"):
            embed("apple")
    assert len(without_network) == tries


def test_a_query_does_not_wait_for_a_model_that_another_one_fetches(tiny, monkeypatch):
    embedder, released = tiny(), threading.Event()
    loading, load = threading.Event(), embedder._load

    def slowly():
        loading.set()
        assert released.wait(60)
        return load()

    monkeypatch.setattr(embedder, "_load", slowly)
    monkeypatch.setattr(fastembed_model, "_QUERY_WAIT_S", 0.0)
    with ThreadPoolExecutor(1) as threads:
        passages = threads.submit(embedder.embed_passages, ["apple"])
        assert loading.wait(60)
        with pytest.raises(EmbedderUnavailable, match="fetched"):
            embedder.embed_query("apple")
        released.set()
        assert passages.result().shape == (1, DIM)
    assert embedder.embed_query("apple").shape == (DIM,)


def test_missing_fastembed_is_reported_with_the_remedy(monkeypatch, tmp_path):
    monkeypatch.setattr(fastembed_model, "find_spec", lambda name: None)
    with pytest.raises(EmbedderUnavailable, match=r"requirements-rerank\.txt"):
        create_embedder("fastembed:BAAI/bge-small-en-v1.5", models_dir=tmp_path, threads=1)
