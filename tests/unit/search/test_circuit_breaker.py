"""The circuit breaker opens after repeated failures, and tries again after a while."""

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from search.endpoints.circuit_breaker import CircuitBreaker
from search.retrieval.errors import RerankerUnavailable


@pytest.fixture
def clock():
    """Return a clock that is moved by hand."""
    return SimpleNamespace(now_s=100.0)


@pytest.fixture
def breaker(clock):
    return CircuitBreaker(
        "the reranker", RerankerUnavailable, failures=3, open_s=30, clock=lambda: clock.now_s
    )


def fail(breaker, *, is_fault=True, reason="it answered 500"):
    with pytest.raises(RerankerUnavailable) as caught, breaker.attempt():
        raise RerankerUnavailable(reason, is_fault=is_fault)
    return str(caught.value)


def succeed(breaker):
    with breaker.attempt():
        pass


def refuses(breaker):
    """Return whether an attempt is refused without being made."""
    try:
        succeed(breaker)
    except RerankerUnavailable:
        return True
    return False


def test_breaker_stays_closed_below_the_failure_limit(breaker):
    for _ in range(5):
        fail(breaker)
        fail(breaker)
        succeed(breaker)


def test_breaker_opens_after_three_failures_until_a_later_try_succeeds(breaker, clock):
    for _ in range(3):
        assert fail(breaker) == "it answered 500"
    reason = fail(breaker, reason="never raised")
    assert reason.endswith("it answered 500") and "30 s after 3" in reason
    clock.now_s += 30
    fail(breaker)  # begins the rest anew
    clock.now_s += 29.9
    assert refuses(breaker)
    clock.now_s += 0.1
    with breaker.attempt(), ThreadPoolExecutor(4) as threads:  # one thread tries
        assert list(threads.map(refuses, [breaker] * 20)) == [True] * 20
    succeed(breaker)
    succeed(breaker)


def test_attempt_cancelled_by_its_caller_does_not_open_the_breaker(breaker, clock):
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt), breaker.attempt():
            raise KeyboardInterrupt
    assert not refuses(breaker)
    for _ in range(3):
        fail(breaker)
    clock.now_s += 30
    with pytest.raises(GeneratorExit), breaker.attempt():  # the next one is a try again
        raise GeneratorExit
    fail(breaker)
    assert refuses(breaker)


def test_any_exception_counts_and_is_named_without_its_text(breaker):
    for _ in range(3):
        with pytest.raises(ValueError, match="secret"), breaker.attempt():
            raise ValueError("secret")
    assert fail(breaker).endswith("(ValueError)")


def test_refused_request_does_not_open_the_breaker(breaker):
    for _ in range(10):
        fail(breaker)
        fail(breaker, is_fault=False)
    succeed(breaker)


def test_no_failure_of_many_threads_is_lost(clock):
    breaker = CircuitBreaker("the reranker", RerankerUnavailable, failures=400, clock=lambda: clock.now_s)
    together = threading.Barrier(4)

    def fail_often():
        together.wait()
        for _ in range(100):
            fail(breaker)

    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(fail_often) for _ in range(4)]:
            done.result()
    assert refuses(breaker)
