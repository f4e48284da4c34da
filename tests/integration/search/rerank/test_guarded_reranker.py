"""A guarded reranker answers or fails within its limit, whatever the scorer does."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from search.endpoints.circuit_breaker import CircuitBreaker
from search.rerank.configured import GuardedReranker
from search.retrieval.deadline import limit_time
from search.retrieval.errors import RerankerUnavailable


class StaticScorer:
    """Returns fixed scores, and records its calls."""

    name = "static"
    gives_logits = False

    def __init__(self, scores):
        self.scores = scores
        self.asked = []

    def score(self, query, passages, *, limit_s):
        self.asked.append((query, passages, limit_s))
        if isinstance(self.scores, Exception):
            raise self.scores
        return self.scores

    def close(self):
        pass


class StuckScorer(StaticScorer):
    """Does not come back before the test is over."""

    def __init__(self):
        super().__init__([0.5])
        self.released = threading.Event()

    def score(self, query, passages, *, limit_s):
        self.asked.append(query)
        self.released.wait()
        return self.scores


@pytest.fixture
def threads():
    with ThreadPoolExecutor(2) as executor:
        yield executor


@pytest.fixture
def guard(threads):
    def make(scorer, limit_s=60.0):
        return GuardedReranker(
            scorer,
            limit_s=limit_s,
            breaker=CircuitBreaker("the reranker", RerankerUnavailable),
            executor=threads,
        )

    return make


def test_guarded_reranker_forwards_scores_name_and_kind(guard):
    scorer = StaticScorer([0.5, 0.25])
    reranker = guard(scorer)
    assert (reranker.name, reranker.gives_logits) == ("static", False)
    assert reranker.rerank("q", ["a", "b"]) == [0.5, 0.25]
    assert scorer.asked == [("q", ["a", "b"], 60.0)]


def test_a_scorer_that_is_stuck_does_not_hold_the_request(guard):
    scorer = StuckScorer()
    try:
        with pytest.raises(RerankerUnavailable, match=r"0\.05 s"):
            guard(scorer, limit_s=0.05).rerank("q", ["a"])
    finally:
        scorer.released.set()


def test_request_ends_when_all_threads_are_stuck(guard):
    scorer = StuckScorer()
    reranker = guard(scorer, limit_s=0.05)
    try:
        for _ in range(3):
            with pytest.raises(RerankerUnavailable):
                reranker.rerank("q", ["a"])
        assert len(scorer.asked) == 2
        with pytest.raises(RerankerUnavailable, match="left alone"):
            reranker.rerank("q", ["a"])
    finally:
        scorer.released.set()


@pytest.mark.parametrize("scores", [[0.5], [0.5, float("nan")], [0.5, 7.0], ValueError("x")])
def test_wrong_scores_count_against_the_reranker(guard, scores):
    scorer = StaticScorer(scores)
    reranker = guard(scorer)
    for _ in range(3):
        with pytest.raises((RerankerUnavailable, ValueError)):
            reranker.rerank("q", ["a", "b"])
    with pytest.raises(RerankerUnavailable, match="left alone"):
        reranker.rerank("q", ["a", "b"])
    assert len(scorer.asked) == 3


def test_long_texts_are_cut(guard):
    scorer = StaticScorer([0.5])
    guard(scorer).rerank("q" * 5_000, ["p" * 5_000])
    assert scorer.asked == [("q" * 1_000, ["p" * 2_000], 60.0)]


def test_search_timeouts_do_not_open_the_rerankers_breaker(guard):
    scorer = StaticScorer(RerankerUnavailable("the reranker took too long"))
    reranker = guard(scorer)
    for _ in range(4):
        with limit_time(0.0), pytest.raises(RerankerUnavailable, match="time of the search"):
            reranker.rerank("q", ["a"])
    scorer.scores = [0.5]
    assert reranker.rerank("q", ["a"]) == [0.5]
