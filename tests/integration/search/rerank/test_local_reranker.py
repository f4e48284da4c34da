"""A real, tiny cross-encoder, read from a folder through fastembed."""

import builtins
import socket
import sys
import threading
from itertools import count

import pytest

from search.rerank.local import LocalScorer, find_graph
from search.retrieval.errors import RerankerUnavailable
from tests.integration.search.rerank.tiny_cross_encoder import BASE, make_model

LIMIT_S = 60.0


@pytest.fixture
def folder(tmp_path):
    return make_model(tmp_path / "tiny")


def score(folder, query="apple cherry", passages=("banana", "cherry apple", "an apple"), **options):
    scorer = LocalScorer(folder, threads=1, **options)
    return scorer.score(query, passages, limit_s=LIMIT_S)


def test_model_returns_a_logit_for_each_passage_in_order(folder):
    assert score(folder) == [BASE, BASE + 2, BASE + 1]
    assert LocalScorer(folder, threads=1).gives_logits


def test_more_passages_than_one_batch_are_scored(folder):
    passages = [" ".join(["apple"] * n) for n in range(30)]
    assert score(folder, "apple", passages) == [BASE + n for n in range(30)]


@pytest.mark.parametrize("graph", ["onnx/model.onnx", "model.onnx", "onnx/model_quantized.onnx"])
def test_the_graph_is_found_under_the_names_that_exporters_give(tmp_path, graph):
    folder = make_model(tmp_path, graph=graph)
    assert find_graph(folder) == graph
    assert score(folder, "apple", ["apple"]) == [BASE + 1]


def test_model_is_loaded_again_after_its_release(folder):
    scorer = LocalScorer(folder, threads=1)
    first = scorer.score("apple", ["apple"], limit_s=LIMIT_S)
    scorer.close()
    assert scorer.score("apple", ["apple"], limit_s=LIMIT_S) == first


def test_no_connection_is_opened(folder, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a connection was asked for")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert score(folder)


def test_missing_files_are_named_with_the_remedy(tmp_path, subtests):
    for missing in ("onnx/model.onnx", "tokenizer.json", "tokenizer_config.json"):
        folder = make_model(tmp_path / missing.replace("/", "-"))
        (folder / missing).unlink()
        with subtests.test(missing=missing):
            with pytest.raises(RerankerUnavailable) as caught:
                score(folder)
            named = (str(folder), missing, "KEBAB_RERANK_MODEL")
            assert [each for each in named if each not in caught.value.remedy] == []


def test_missing_folder_is_not_downloaded(tmp_path):
    with pytest.raises(RerankerUnavailable):
        score(tmp_path / "Xenova" / "ms-marco-MiniLM-L-6-v2")


def test_missing_fastembed_is_reported_with_the_remedy(folder, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "fastembed"]:
        monkeypatch.delitem(sys.modules, name)
    import_module = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.partition(".")[0] == "fastembed":
            raise ImportError(name)
        return import_module(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(RerankerUnavailable, match="not installed") as caught:
        score(folder)
    assert "deploy/requirements-rerank.txt" in caught.value.remedy


def test_local_reranker_stops_after_a_batch_past_its_time_limit(folder):
    clock = count(0, 1)
    scorer = LocalScorer(folder, threads=1, clock=lambda: next(clock))
    with pytest.raises(RerankerUnavailable, match="5 s"):
        scorer.score("apple", ["apple"] * 1_000, limit_s=5)
    assert next(clock) == 7


def test_requests_during_loading_are_refused_as_such(folder, monkeypatch):
    is_loading, may_end = threading.Event(), threading.Event()

    def load(*args, **kwargs):
        is_loading.set()
        may_end.wait()
        raise RerankerUnavailable("never loaded")

    monkeypatch.setattr("search.rerank.local.load_cross_encoder", load)
    scorer = LocalScorer(folder, threads=1)

    def load_and_fail():
        with pytest.raises(RerankerUnavailable, match="never loaded"):
            scorer.score("apple", ["apple"], limit_s=LIMIT_S)

    loading = threading.Thread(target=load_and_fail)
    loading.start()
    is_loading.wait()
    with pytest.raises(RerankerUnavailable, match="loaded") as caught:
        scorer.score("apple", ["apple"], limit_s=0.01)
    may_end.set()
    loading.join()
    assert not caught.value.is_fault
