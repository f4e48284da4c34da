"""Embedding over HTTP against a real server: requests, responses, and every failure."""

import logging
import socket
from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path

import numpy as np
import pytest
from django.utils import timezone

from search.embedders.endpoint import BadAnswer, EndpointEmbedder, parse_vectors
from search.embedders.registry import create_embedder
from search.endpoints.settings import embed_endpoint
from search.retrieval.deadline import limit_time
from search.retrieval.errors import EmbedderUnavailable
from tests.integration.search.embedders.endpoints import (
    DIM,
    GARBAGE,
    after_a_good_start,
    answer_in_base64,
    answer_unscaled,
    answer_well,
    in_turn,
    item,
    items,
    refusing,
    vector_of,
)
from tests.integration.search.rerank.behaviours import (
    die_before_the_answer,
    die_mid_body,
    drip_body,
    flood,
    hang,
    raw,
    redirect_to,
)
from tests.support.http_stub import closed_port, serving

KEY = "key-that-nobody-may-log"
TEXT = "text that nobody may log"


class Pause:
    """A clock that only waiting advances."""

    def __init__(self):
        self.now_s = 100.0
        self.waits: list[float] = []

    def __call__(self):
        return self.now_s

    def sleep(self, seconds):
        self.waits.append(seconds)
        self.now_s += seconds


@pytest.fixture
def pause(monkeypatch):
    """Let embedders wait without real time passing."""
    clock = Pause()
    real = EndpointEmbedder.__init__

    def waiting(self, *arguments, **options):
        real(self, *arguments, **{**options, "clock": clock, "sleep": clock.sleep})

    monkeypatch.setattr(EndpointEmbedder, "__init__", waiting)
    return clock


@pytest.fixture
def embedder_at(settings):
    """Return a function that makes an embedder of a stub."""
    made = []

    def make(stub, *options, model="m", dim=DIM, threads=1, api_keys=None):
        settings.KEBAB_EMBED_API_KEYS = api_keys or {}
        url = stub if isinstance(stub, str) else stub.url.removesuffix("/rerank") + "/v1"
        text = "&".join([f"openai:{model}?url={url}", f"dim={dim}", *options])
        made.append(create_embedder(text, models_dir=Path(), threads=threads))
        return made[-1]

    yield make
    for embedder in made:
        embedder.close()


def close_to(vectors, texts):
    return np.allclose(vectors, np.array([vector_of(text) for text in texts]), atol=1e-6)


def test_vectors_come_in_the_order_of_the_texts_and_have_length_one(embedder_at, subtests):
    texts = [f"text number {n}" for n in range(5)]
    for behaviour in (answer_well, answer_in_base64, answer_unscaled):
        with subtests.test(behaviour=behaviour), serving(behaviour) as stub:
            embedder = embedder_at(stub)
            passages, query = embedder.embed_passages(texts), embedder.embed_query("a query")
            assert passages.dtype == query.dtype == np.float32
            assert close_to(passages, texts)
            assert close_to([query], ["a query"])


def test_request_follows_the_openai_embeddings_protocol(embedder_at):
    with serving(answer_well) as stub:
        embedder_at(stub, "query_prefix=ask:+", "passage_prefix=say:+").embed_passages(["a", "b"])
        embedder_at(stub, "query_prefix=ask:+", "encoding=base64").embed_query("a")
    assert stub.paths == ["/v1/embeddings"] * 3
    assert stub.requests[1:] == [
        {"model": "m", "input": ["say: a", "say: b"], "encoding_format": "float"},
        {"model": "m", "input": ["ask: a"], "encoding_format": "base64"},
    ]
    with serving(answer_well) as stub:  # this model can give fewer components
        embedder_at(stub, model="text-embedding-3-small").embed_query("a")
    assert stub.requests[0]["dimensions"] == DIM


def test_texts_go_in_batches_by_their_number_and_their_tokens(embedder_at):
    with serving(answer_well) as stub:
        embedder = embedder_at(stub, "batch=4", "batch_tokens=100")
        embedder.embed_passages(["a"] * 10)
        embedder.embed_passages(["b" * 120] * 5)
    assert [len(sent["input"]) for sent in stub.requests] == [1, 4, 4, 2, 2, 2, 1]
    texts = [f"text {n}" for n in range(50)]
    with serving(answer_well) as stub:
        assert close_to(embedder_at(stub, "batch=3", threads=4).embed_passages(texts), texts)


def test_the_key_goes_to_its_own_endpoint_alone(embedder_at, settings, tmp_path):
    keys = {"": "default-key", "tei": KEY}
    with serving(answer_well) as stub:
        embedder_at(stub, "key=tei", api_keys=keys).embed_query("a")
        embedder_at(stub, api_keys=keys).embed_query("a")
        settings.KEBAB_EMBED_URL = stub.url.removesuffix("/rerank")
        create_embedder(f"openai:m?dim={DIM}", models_dir=tmp_path, threads=1).embed_query("a")
    sent = [headers.get("authorization") for headers in stub.headers]
    assert sent == [f"Bearer {KEY}", None, "Bearer default-key"]


def test_key_that_cannot_be_sent_is_named_and_not_shown(embedder_at):
    for keys, message in (({}, "KEBAB_EMBED_API_KEY_TEI"), ({"tei": "a\nb"}, "header")):
        with pytest.raises(EmbedderUnavailable, match=message) as caught:
            embedder_at("http://127.0.0.1:1/v1", "key=tei", api_keys=keys)
        assert caught.value.is_lasting
        assert "a\nb" not in str(caught.value)


def test_key_and_text_are_neither_logged_nor_reported(embedder_at, pause, caplog):
    with caplog.at_level(logging.DEBUG), serving(raw(b"no", status=503)) as stub:
        embedder = embedder_at(stub, "key=tei", api_keys={"tei": KEY})
        for embed in (embedder.embed_query, lambda text: embedder.embed_passages([text])):
            with pytest.raises(EmbedderUnavailable) as caught:
                embed(TEXT)
            assert not any(secret in str(caught.value) for secret in (KEY, TEXT, "127.0.0.1"))
    assert KEY not in caplog.text
    assert TEXT not in caplog.text
    assert KEY not in repr(embed_endpoint(model="m", url=None, key="tei", limit_s=1))


def test_url_of_the_default_endpoint_is_checked(settings, tmp_path):
    settings.KEBAB_EMBED_URL = "127.0.0.1:8080"
    with pytest.raises(EmbedderUnavailable, match="KEBAB_EMBED_URL is not the URL") as caught:
        create_embedder(f"openai:m?dim={DIM}", models_dir=tmp_path, threads=1)
    assert caught.value.is_lasting


def test_malformed_embedding_responses_are_refused(embedder_at, pause, subtests):
    for name, garbage in GARBAGE.items():
        with subtests.test("first call", case=name), serving(garbage) as stub:
            embedder = embedder_at(stub)
            with pytest.raises(EmbedderUnavailable, match=r"Check (the )?url"):
                embedder.embed_passages(["a", "b", "c"])
            with pytest.raises(EmbedderUnavailable):
                embedder.embed_query("a")
        with (
            subtests.test("after a good start", case=name),
            serving(after_a_good_start(garbage)) as stub,
            pytest.raises(EmbedderUnavailable),
        ):
            embedder_at(stub).embed_passages(["a" * 200, "b" * 200, "c" * 200])
    with pytest.raises(BadAnswer):
        parse_vectors({"data": [item(0), item(0)]}, count=2, dim=DIM)


def test_vector_of_unexpected_dimension_is_a_permanent_error(embedder_at):
    later = after_a_good_start(items(lambda n: {"index": n, "embedding": [1.0] * 3}))
    for how, dim in ((answer_well, 9), (later, DIM)):
        with serving(how) as stub:
            embedder = embedder_at(stub, dim=dim)
            with pytest.raises(EmbedderUnavailable, match=rf"not {dim}\D.*\?dim=\d+") as caught:
                embedder.embed_passages(["a"])
        assert caught.value.is_lasting


def test_passing_failures_are_tried_again_and_lasting_ones_are_not(embedder_at, pause, subtests):
    lasting = {400: True, 401: True, 403: True, 404: True, 408: False, 429: False, 500: False, 503: False}
    for status, is_lasting in lasting.items():
        with subtests.test(status=status), serving(raw(b"{}", status=status)) as stub:
            with pytest.raises(EmbedderUnavailable) as caught:
                embedder_at(stub).embed_passages(["a"])
            assert caught.value.is_lasting is is_lasting
            assert (len(stub.requests) > 1) is not is_lasting


def test_passing_failures_cost_growing_waits_with_jitter_or_what_a_rate_limit_says(embedder_at, pause):
    boom, limit = raw(b"{}", status=500), raw(b"{}", status=429, **{"Retry-After": "4"})
    with serving(in_turn(boom, boom, boom, limit, answer_well)) as stub:
        assert close_to(embedder_at(stub).embed_passages(["a"]), ["a"])
    assert len(stub.requests) == 6
    *waits, limited = pause.waits
    assert [0.25 * 2**n <= wait <= 0.5 * 2**n for n, wait in enumerate(waits)] == [True] * 3
    assert limited == 4.0


def test_long_rate_limit_is_left_to_the_caller(embedder_at, pause):
    in_an_hour = format_datetime(timezone.now() + timedelta(hours=1), usegmt=True)
    waits_s = []
    for header in ("120", "soon", "-1", in_an_hour):
        limited = raw(b"{}", status=429, **{"Retry-After": header})
        with serving(limited) as stub, pytest.raises(EmbedderUnavailable) as caught:
            embedder_at(stub).embed_passages(["a"])
        assert not caught.value.is_lasting
        waits_s.append(caught.value.retry_after_s)
    assert waits_s[:3] == [120, None, None]
    assert 3_000 < waits_s[3] <= 3_600


def test_refused_text_is_truncated_without_affecting_the_batch(embedder_at, pause):
    texts = ["short", "l" * 1_000, "words"]
    for status in (400, 413, 422):
        with serving(refusing(lambda text: len(text) > 300, status)) as stub:
            vectors = embedder_at(stub).embed_passages(texts)
        assert close_to(vectors, ["short", "l" * 250, "words"])
    with (
        serving(refusing(lambda text: "bad" in text)) as stub,  # at any length
        pytest.raises(EmbedderUnavailable, match="400") as caught,
    ):
        embedder_at(stub).embed_passages(["good", "bad " * 100])
    assert caught.value.is_lasting


def test_any_text_can_be_sent_and_a_long_one_is_cut(embedder_at):
    with serving(answer_well) as stub:
        assert embedder_at(stub).embed_passages([]).shape == (0, DIM)
        assert stub.requests == []
        for text in ("", "\x00", "\ud800", "部署"):
            assert embedder_at(stub).embed_passages([text]).shape == (1, DIM)
        embedder_at(stub, "max_tokens=16").embed_passages(["a" * 100_000])
    assert len(stub.requests[-1]["input"][0]) == 16 * 16


def test_search_timeouts_do_not_open_the_embedders_breaker(embedder_at):
    with serving(in_turn(*[answer_well] * 2, *[hang] * 4, answer_well)) as stub:
        embedder = embedder_at(stub)
        for _ in range(4):
            with limit_time(0.0), pytest.raises(EmbedderUnavailable, match="time of the search"):
                embedder.embed_query("tides")
        assert embedder._breaker._failures == 0


@pytest.mark.parametrize("behaviour", [hang, drip_body])
def test_endless_embedding_response_times_out(embedder_at, behaviour):
    with serving(behaviour) as stub:
        embedder = embedder_at(stub, "limit_s=0.2", "query_limit_s=0.2")
        with pytest.raises(EmbedderUnavailable):
            embedder.embed_query("a")
    with serving(after_a_good_start(behaviour)) as stub:
        embedder = embedder_at(stub)
        embedder._check()
        with pytest.raises(EmbedderUnavailable):
            embedder._ask(["a"], 0.2)


def test_broken_answers_are_failures(embedder_at, pause, monkeypatch, subtests):
    monkeypatch.setattr("search.embedders.endpoint._MAX_ANSWER_BYTES", 1_000_000)
    for behaviour in (die_before_the_answer, die_mid_body, flood, redirect_to("http://127.0.0.1:9/")):
        with subtests.test(behaviour=behaviour), serving(behaviour) as stub:
            embedder = embedder_at(stub)
            with pytest.raises(EmbedderUnavailable):
                embedder.embed_query("a")
            with pytest.raises(EmbedderUnavailable):
                embedder.embed_passages(["a"])


def test_refused_connection_is_a_transient_failure(embedder_at, pause):
    embedder = embedder_at(f"http://127.0.0.1:{closed_port()}/v1")
    with pytest.raises(EmbedderUnavailable) as caught:
        embedder.embed_passages(["a"])
    assert not caught.value.is_lasting
    assert len(pause.waits) >= 3


def test_a_name_that_leads_to_a_private_address_is_refused(embedder_at, monkeypatch):
    resolved = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.1.2.3", 80))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: resolved)
    with pytest.raises(EmbedderUnavailable, match="KEBAB_PRIVATE_HOSTS") as caught:
        embedder_at("http://embed.example/v1").embed_passages(["a"])
    assert caught.value.is_lasting
    assert "10.1.2.3" not in str(caught.value)


def test_query_is_not_retried_and_the_breaker_opens_after_three_failures(embedder_at, pause):
    with serving(raw(b"{}", status=500)) as stub:
        embedder = embedder_at(stub)
        for _ in range(5):
            with pytest.raises(EmbedderUnavailable):
                embedder.embed_query("a")
        assert len(stub.requests) == 3
        stub.behaviour = answer_well
        pause.now_s += 31
        assert close_to([embedder.embed_query("a")], ["a"])
        assert close_to([embedder.embed_query("b")], ["b"])


def test_refused_queries_do_not_open_the_breaker(embedder_at):
    with serving(refusing(lambda text: text == "bad")) as stub:
        embedder = embedder_at(stub)
        for _ in range(5):
            with pytest.raises(EmbedderUnavailable, match="400"):
                embedder.embed_query("bad")
        assert close_to([embedder.embed_query("good")], ["good"])


def test_unknown_model_requires_a_stated_dimension(tmp_path):
    with pytest.raises(EmbedderUnavailable, match=r"\?dim="):
        create_embedder("openai:some-model", models_dir=tmp_path, threads=1)
    embedder = create_embedder("openai:text-embedding-3-large", models_dir=tmp_path, threads=1)
    assert (embedder.space.dim, embedder.max_tokens) == (3072, 8191)
