"""Each shape of `/rerank` against a real server, and every failure of one."""

import logging
import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from search.endpoints.circuit_breaker import CircuitBreaker
from search.endpoints.settings import rerank_endpoint
from search.rerank.configured import GuardedReranker
from search.rerank.endpoint import make_endpoint_scorer
from search.rerank.options import FORMATS, RerankOptions
from search.retrieval.errors import RerankerUnavailable
from tests.integration.search.rerank.behaviours import (
    FAILURES,
    hang,
    items,
    one_score,
    raw,
    redirect_to,
    results,
    tei,
    valid_item,
)
from tests.support.http_stub import closed_port, serving

KEY = "key-that-nobody-may-log"
QUERY = "query that nobody may log"
# Long enough for a busy machine.
PATIENT_S = 60.0
# Servers that never come to an end, so that only the limit can end the request.
ENDLESS = ("hangs", "drips headers", "drips its body")


def length(passage):
    return len(passage) / 10


def options(url, kind="tei", **given):
    written = {"model": "a-model", "api_key": KEY, "private_hosts": frozenset({"127.0.0.1"})}
    endpoint = replace(rerank_endpoint(needs_model=False), url=url, **{**written, **given})
    return RerankOptions(kind=kind, endpoint=endpoint)


@pytest.fixture
def ask():
    """Return a function that scores passages at the endpoint of a URL."""
    scorers = []

    def score(url, passages, *, limit_s=PATIENT_S, **given):
        scorers.append(make_endpoint_scorer(options(url, **given)))
        return scorers[-1].score(QUERY, passages, limit_s=limit_s)

    yield score
    for scorer in scorers:
        scorer.close()


PASSAGES = ["aa", "a", "aaa"]
SENT = {
    "tei": {"query": QUERY, "texts": PASSAGES, "raw_scores": True, "truncate": True},
    "cohere": {"model": "a-model", "query": QUERY, "documents": PASSAGES, "top_n": 3},
}
SENT["jina"] = SENT["siliconflow"] = {**SENT["cohere"], "return_documents": False}


@pytest.mark.parametrize("kind", FORMATS)
def test_each_shape_is_sent_and_read_as_its_server_speaks(ask, kind):
    behaviour = tei(length) if kind == "tei" else results(length)
    with serving(behaviour) as stub:
        assert ask(stub.url, PASSAGES, kind=kind) == [0.2, 0.1, 0.3]
    assert stub.requests == [SENT[kind]]
    assert FORMATS[kind].gives_logits is (kind == "tei")


def test_tei_is_asked_for_at_most_32_passages_at_once(ask):
    passages = ["a" * n for n in range(1, 71)]
    with serving(tei(length)) as stub:
        assert ask(stub.url, passages) == [n / 10 for n in range(1, 71)]
    assert [len(sent["texts"]) for sent in stub.requests] == [32, 32, 6]


def test_the_key_goes_into_the_header_and_only_where_there_is_one(ask):
    with serving(tei(length)) as stub:
        ask(stub.url, ["a"])
        ask(stub.url, ["a"], api_key="")
    assert [headers.get("authorization") for headers in stub.headers] == [f"Bearer {KEY}", None]


def test_last_part_of_the_url_may_be_left_out(ask):
    with serving(tei(length)) as stub:
        for given in ("", "/v1", "/rerank/"):
            ask(stub.url.removesuffix("/rerank") + given, ["a"])
    assert stub.paths == ["/rerank", "/v1/rerank", "/rerank"]


def test_a_connection_is_kept_between_two_requests():
    with serving(lambda exchange: exchange.reply(b'[{"index": 0, "score": 1}]', keeps=True)) as stub:
        scorer = make_endpoint_scorer(options(stub.url))
        for _ in range(3):
            scorer.score(QUERY, ["a"], limit_s=PATIENT_S)
        scorer.close()
    assert len(stub.peers) == 1


# What the reason of a failure names: a status, a limit, or the fault in a word or two.
REASONS = {
    "500": "500",
    "404": "404",
    "redirect": "307",
    "garbage": "JSON",
    "deep": "JSON",
    "floods": "1,000,000 bytes",
    "dies mid-body": "broke off",
    "too few": "2 scores for 3",
    "an index twice": "each index once",
    "another document": "lacks a list",
    **dict.fromkeys(ENDLESS, "within 0.2 s"),
}


def test_every_failure_is_reported_without_secrets(ask, subtests, caplog):
    for failure, behaviour in FAILURES.items():
        limit_s = 0.2 if failure in ENDLESS else PATIENT_S
        with subtests.test(failure=failure), serving(behaviour) as stub, caplog.at_level(logging.DEBUG):
            with pytest.raises(RerankerUnavailable) as caught:
                # What JSON can say and no score is, the guard refuses.
                raise_unless_finite(ask(stub.url, ["a", "b", "c"], limit_s=limit_s))
            reason = str(caught.value)
            assert REASONS.get(failure, "reranker") in reason
            assert not any(secret in reason for secret in (KEY, QUERY, "127.0.0.1", "http"))
    assert not any(secret in caplog.text for secret in (KEY, QUERY))
    assert KEY not in repr(options("http://127.0.0.1"))


def raise_unless_finite(scores):
    class Scorer:
        name, gives_logits = "given", True

        def score(self, query, passages, *, limit_s):
            return scores

    with ThreadPoolExecutor(1) as threads:
        guarded = GuardedReranker(
            Scorer(),
            limit_s=PATIENT_S,
            breaker=CircuitBreaker("the reranker", RerankerUnavailable),
            executor=threads,
        )
        guarded.rerank(QUERY, ["a"] * len(scores))


def test_rerank_time_limit_covers_all_batches(ask):
    def once(exchange):
        well_done = len(exchange.server.requests) == 1
        (tei(length) if well_done else hang)(exchange)

    with serving(once) as stub, pytest.raises(RerankerUnavailable):
        ask(stub.url, ["a"] * 40, limit_s=1)
    assert len(stub.requests) == 2


def test_unreachable_reranker_is_unavailable(ask, subtests):
    with subtests.test("nobody listens"), pytest.raises(RerankerUnavailable):
        ask(f"http://127.0.0.1:{closed_port()}/rerank", ["a"])
    with subtests.test("nothing is read"), socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        with pytest.raises(RerankerUnavailable):
            ask(url, ["a" * 300_000] * 32, limit_s=0.3)
    with subtests.test("no TLS"), serving(tei(length)) as stub, pytest.raises(RerankerUnavailable):
        ask(stub.url.replace("http:", "https:"), ["a"])


def test_redirect_is_not_followed(ask):
    with serving(tei(length)) as elsewhere, serving(redirect_to(elsewhere.url)) as stub:
        with pytest.raises(RerankerUnavailable):
            ask(stub.url, ["a"])
        assert elsewhere.requests == []


def test_request_refused_by_the_endpoint_does_not_count_as_its_failure(ask, subtests):
    for status, is_fault in {400: False, 413: False, 422: False, 401: True, 429: True}.items():
        with subtests.test(status=status), serving(raw(b"{}", status=status)) as stub:
            with pytest.raises(RerankerUnavailable) as caught:
                ask(stub.url, ["a"])
            assert caught.value.is_fault is is_fault


def test_name_with_a_private_address_is_refused(ask, monkeypatch):
    resolved = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.1.2.3", 80))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: resolved)
    with pytest.raises(RerankerUnavailable) as caught:
        ask("http://rerank.example/rerank", ["a"])
    assert "10.1.2.3" not in str(caught.value)
    assert "KEBAB_PRIVATE_HOSTS" in caught.value.remedy


def test_whole_numbers_are_scores_and_other_fields_do_not_matter(ask):
    with serving(one_score("1")) as stub:
        assert ask(stub.url, ["a", "b"]) == [1.0, 0.5]
    with serving(items(lambda n: [{**valid_item(i), "text": "x"} for i in range(n)])) as stub:
        assert ask(stub.url, ["a", "b"]) == [0.0, -1.0]
