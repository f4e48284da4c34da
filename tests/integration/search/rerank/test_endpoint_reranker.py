"""Each shape of `/rerank` against a real server, and every way in which one may fail."""

import logging
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from search.breaker import Breaker
from search.rerank.endpoint import make_endpoint_scorer
from search.rerank.guarded import GuardedReranker
from search.rerank.options import RerankOptions
from search.rerank.shapes import SHAPES
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
    well,
)
from tests.integration.search.rerank.stub import closed_port, serving

KEY = "key-that-nobody-may-log"
QUERY = "query that nobody may log"
# Long enough for a busy machine.
PATIENT_S = 60.0
# Servers that never come to an end, so that only the limit can end the request.
ENDLESS = ("hangs", "drips headers", "drips its body")


def length(passage):
    return len(passage) / 10


def options(url, kind="tei", **given):
    written = {"model": "a-model", "api_key": KEY, "limit_ms": 1, "private_hosts": frozenset({"127.0.0.1"})}
    return RerankOptions(kind=kind, url=url, **{**written, **given})


@pytest.fixture
def ask():
    """Ask the endpoint at a URL."""
    scorers = []

    def score(url, passages, *, limit_s=PATIENT_S, **given):
        scorers.append(make_endpoint_scorer(options(url, **given)))
        return scorers[-1].score(QUERY, passages, limit_s=limit_s)

    yield score
    for scorer in scorers:
        scorer.close()


@pytest.mark.parametrize(
    ("kind", "behaviour", "sent"),
    [
        (
            "tei",
            tei(length),
            {"query": QUERY, "texts": ["aa", "a", "aaa"], "raw_scores": True, "truncate": True},
        ),
        (
            "jina",
            results(length),
            {
                "model": "a-model",
                "query": QUERY,
                "documents": ["aa", "a", "aaa"],
                "top_n": 3,
                "return_documents": False,
            },
        ),
        (
            "cohere",
            results(length),
            {"model": "a-model", "query": QUERY, "documents": ["aa", "a", "aaa"], "top_n": 3},
        ),
        (
            "siliconflow",
            results(length),
            {
                "model": "a-model",
                "query": QUERY,
                "documents": ["aa", "a", "aaa"],
                "top_n": 3,
                "return_documents": False,
            },
        ),
    ],
)
def test_every_shape_is_asked_in_its_way_and_understood(ask, kind, behaviour, sent):
    with serving(behaviour) as stub:
        assert ask(stub.url, ["aa", "a", "aaa"], kind=kind) == [0.2, 0.1, 0.3]
    assert stub.requests == [sent]


def test_tei_gives_logits_and_the_others_do_not():
    assert {kind: shape.gives_logits for kind, shape in SHAPES.items()} == {
        "tei": True,
        "jina": False,
        "cohere": False,
        "siliconflow": False,
    }


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


@pytest.mark.parametrize(
    ("given", "asked"), [("", "/rerank"), ("/v1", "/v1/rerank"), ("/rerank/", "/rerank")]
)
def test_the_url_may_be_given_without_its_last_part(ask, given, asked):
    with serving(tei(length)) as stub:
        ask(stub.url.removesuffix("/rerank") + given, ["a"])
    assert stub.paths == [asked]


def test_a_connection_is_kept_between_two_requests():
    with serving(lambda exchange: exchange.reply(b'[{"index": 0, "score": 1}]', keeps=True)) as stub:
        scorer = make_endpoint_scorer(options(stub.url))
        for _ in range(3):
            scorer.score(QUERY, ["a"], limit_s=PATIENT_S)
        scorer.close()
    assert len(stub.peers) == 1


@pytest.mark.parametrize("failure", FAILURES)
def test_every_failure_is_one(ask, failure):
    limit_s = 0.3 if failure in ENDLESS else PATIENT_S
    with serving(FAILURES[failure]) as stub:
        with pytest.raises(RerankerUnavailable) as caught:
            scores = ask(stub.url, ["a", "b", "c"], limit_s=limit_s)
            # What JSON can say and no score is, the guard refuses.
            raise_unless_finite(scores)
        reason = str(caught.value)
    assert reason.startswith("the reranker")
    assert not any(secret in reason for secret in (KEY, QUERY, "127.0.0.1", "http"))


def raise_unless_finite(scores):
    class Scorer:
        name, gives_logits = "given", True

        def score(self, query, passages, *, limit_s):
            return scores

    with ThreadPoolExecutor(1) as threads:
        guarded = GuardedReranker(
            Scorer(),
            limit_s=PATIENT_S,
            breaker=Breaker("the reranker", RerankerUnavailable),
            executor=threads,
        )
        guarded.rerank(QUERY, ["a"] * len(scores))


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (FAILURES["500"], "the reranker answered 500"),
        (FAILURES["redirect"], "the reranker answered 307; redirects are not followed"),
        (FAILURES["garbage"], "the reranker did not answer JSON"),
        (FAILURES["deep"], "the reranker did not answer JSON"),
        (FAILURES["floods"], "the reranker answered more than 1,000,000 bytes"),
        (FAILURES["dies mid-body"], "the reranker broke off its answer, or did not speak HTTP"),
        (FAILURES["too few"], "the reranker gave 2 scores for 3 passages"),
        (FAILURES["an index twice"], "the reranker's answer does not have each index once"),
        (FAILURES["another document"], "the reranker's answer has no list of scores"),
    ],
)
def test_the_reason_names_what_failed(ask, behaviour, reason):
    with serving(behaviour) as stub, pytest.raises(RerankerUnavailable) as caught:
        ask(stub.url, ["a", "b", "c"])
    assert str(caught.value) == reason


@pytest.mark.parametrize("failure", ENDLESS)
def test_a_server_that_never_comes_to_an_end_is_left_at_the_limit(ask, failure):
    with serving(FAILURES[failure]) as stub, pytest.raises(RerankerUnavailable) as caught:
        ask(stub.url, ["a"], limit_s=0.2)
    assert str(caught.value) == "the reranker did not answer within 0.2 s"


def test_the_limit_is_for_all_requests_together(ask):
    def once(exchange):
        well_done = len(exchange.server.requests) == 1
        (tei(length) if well_done else hang)(exchange)

    with serving(once) as stub, pytest.raises(RerankerUnavailable, match="did not answer"):
        ask(stub.url, ["a"] * 40, limit_s=3)
    assert len(stub.requests) == 2


def test_nobody_listening_is_a_failure(ask):
    with pytest.raises(RerankerUnavailable, match=r"the reranker can't be reached"):
        ask(f"http://127.0.0.1:{closed_port()}/rerank", ["a"])


def test_a_server_that_reads_nothing_is_left_at_the_limit(ask):
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        with pytest.raises(RerankerUnavailable, match="did not answer"):
            ask(url, ["a" * 300_000] * 32, limit_s=0.3)


def test_a_server_without_tls_is_a_failure(ask):
    with serving(tei(length)) as stub, pytest.raises(RerankerUnavailable):
        ask(stub.url.replace("http:", "https:"), ["a"])


def test_a_redirect_is_not_followed(ask):
    with serving(tei(length)) as elsewhere, serving(redirect_to(elsewhere.url)) as stub:
        with pytest.raises(RerankerUnavailable, match="redirects are not followed"):
            ask(stub.url, ["a"])
        assert elsewhere.requests == []


@pytest.mark.parametrize(
    ("status", "is_fault"), [(400, False), (413, False), (422, False), (401, True), (429, True)]
)
def test_a_refusal_of_what_was_asked_is_told_from_a_failure(ask, status, is_fault):
    with serving(raw(b"{}", status=status)) as stub, pytest.raises(RerankerUnavailable) as caught:
        ask(stub.url, ["a"])
    assert caught.value.is_fault is is_fault


def test_a_name_that_leads_to_a_private_address_is_refused(ask, monkeypatch):
    resolved = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.1.2.3", 80))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: resolved)
    with pytest.raises(RerankerUnavailable) as caught:
        ask("http://rerank.example/rerank", ["a"])
    assert "private address" in str(caught.value)
    assert "10.1.2.3" not in str(caught.value)
    assert "KEBAB_PRIVATE_HOSTS" in caught.value.remedy


def test_scores_that_are_whole_numbers_are_scores(ask):
    with serving(one_score("1")) as stub:
        assert ask(stub.url, ["a", "b"]) == [1.0, 0.5]


def test_what_else_an_item_holds_does_not_matter(ask):
    with serving(items(lambda n: [{**well(i), "text": "x"} for i in range(n)])) as stub:
        assert ask(stub.url, ["a", "b"]) == [0.0, -1.0]


def test_neither_key_nor_query_is_logged(ask, caplog):
    with caplog.at_level(logging.DEBUG):
        with serving(tei(length)) as stub:
            ask(stub.url, ["a"])
        with serving(FAILURES["500"]) as stub, pytest.raises(RerankerUnavailable):
            ask(stub.url, ["a"])
    assert KEY not in caplog.text
    assert QUERY not in caplog.text
    assert KEY not in repr(options("http://127.0.0.1"))
