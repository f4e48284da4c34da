"""Embedding over HTTP against a real server: what is asked, what is understood, and every way of failing."""

import logging
import socket
import time
from email.utils import formatdate

import numpy as np
import pytest

from search.embedders.answers import BadAnswer, vectors_of
from search.embedders.endpoint import EndpointEmbedder, Endpoints, make_endpoint_embedder
from search.embedders.registry import make_embedder
from search.embedders.spec import parse_spec
from search.retrieval.errors import EmbedderUnavailable
from tests.integration.search.embedders.speaking import (
    DIM,
    GARBAGE,
    after_a_good_start,
    drip_body,
    in_base64,
    in_turn,
    item,
    items,
    refusing,
    unscaled,
    vector_of,
    well,
)
from tests.integration.search.rerank.behaviours import (
    die_before_the_answer,
    die_mid_body,
    flood,
    hang,
    raw,
    redirect_to,
)
from tests.integration.search.rerank.stub import closed_port, serving

KEY = "key-that-nobody-may-log"
TEXT = "text that nobody may log"


class Pause:
    """A clock that only waiting moves."""

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
    """Let embedders wait without time going by."""
    clock = Pause()
    real = EndpointEmbedder.__init__

    def waiting(self, *arguments, **options):
        real(self, *arguments, **{**options, "clock": clock, "sleep": clock.sleep})

    monkeypatch.setattr(EndpointEmbedder, "__init__", waiting)
    return clock


@pytest.fixture
def embedder_at():
    """Make an embedder of a stub."""
    made = []

    def make(stub, *options, model="m", threads=1, **endpoints):
        url = stub if isinstance(stub, str) else stub.url.removesuffix("/rerank") + "/v1"
        text = "&".join([f"openai:{model}?url={url}", f"dim={DIM}", *options])
        made.append(make_endpoint_embedder(parse_spec(text), Endpoints(**endpoints), threads=threads))
        return made[-1]

    yield make
    for embedder in made:
        embedder.close()


def close_to(vectors, texts):
    return np.allclose(vectors, np.array([vector_of(text) for text in texts]), atol=1e-6)


@pytest.mark.parametrize("behaviour", [well, in_base64, unscaled])
def test_vectors_come_in_the_texts_order_and_of_length_one(embedder_at, behaviour):
    texts = [f"text number {n}" for n in range(5)]
    with serving(behaviour) as stub:
        embedder = embedder_at(stub)
        passages, query = embedder.embed_passages(texts), embedder.embed_query("a query")
    assert passages.dtype == query.dtype == np.float32
    assert close_to(passages, texts)
    assert close_to([query], ["a query"])


def test_the_request_is_the_protocols(embedder_at):
    with serving(well) as stub:
        embedder_at(stub, "query_prefix=ask:+", "passage_prefix=say:+").embed_passages(["a", "b"])
        embedder_at(stub, "query_prefix=ask:+", "encoding=base64").embed_query("a")
    assert stub.paths == ["/v1/embeddings"] * 3
    assert stub.requests[1:] == [
        {"model": "m", "input": ["say: a", "say: b"], "encoding_format": "float"},
        {"model": "m", "input": ["ask: a"], "encoding_format": "base64"},
    ]


def test_a_model_that_can_give_fewer_components_is_asked_for_them():
    with serving(well) as stub:
        url = stub.url.removesuffix("/rerank")
        spec = parse_spec(f"openai:text-embedding-3-small?url={url}&dim={DIM}")
        make_endpoint_embedder(spec, Endpoints(), threads=1).embed_query("a")
    assert stub.requests[0]["dimensions"] == DIM


def test_texts_go_in_batches_by_their_number_and_their_tokens(embedder_at):
    with serving(well) as stub:
        embedder = embedder_at(stub, "batch=4", "batch_tokens=100")
        embedder.embed_passages(["a"] * 10)
        embedder.embed_passages(["b" * 120] * 5)
    assert [len(sent["input"]) for sent in stub.requests] == [1, 4, 4, 2, 2, 2, 1]


def test_many_batches_are_asked_for_at_once(embedder_at):
    texts = [f"text {n}" for n in range(50)]
    with serving(well) as stub:
        assert close_to(embedder_at(stub, "batch=3", threads=4).embed_passages(texts), texts)


def test_nothing_is_asked_for_no_text(embedder_at):
    with serving(well) as stub:
        assert embedder_at(stub).embed_passages([]).shape == (0, DIM)
    assert stub.requests == []


def test_the_key_goes_to_its_own_endpoint_alone(embedder_at):
    keys = {"": "default-key", "tei": KEY}
    with serving(well) as stub:
        embedder_at(stub, "key=tei", api_keys=keys).embed_query("a")
        embedder_at(stub, api_keys=keys).embed_query("a")
        url = stub.url.removesuffix("/rerank")
        spec = parse_spec(f"openai:m?dim={DIM}")
        make_endpoint_embedder(spec, Endpoints(url=url, api_keys=keys), threads=1).embed_query("a")
    sent = [headers.get("authorization") for headers in stub.headers]
    assert sent == [f"Bearer {KEY}", None, "Bearer default-key"]


@pytest.mark.parametrize(
    ("keys", "said"), [({}, "KEBAB_EMBED_API_KEY_TEI is not set"), ({"tei": "a\nb"}, "no header may have")]
)
def test_a_key_that_cannot_be_sent_is_named_not_shown(embedder_at, keys, said):
    with pytest.raises(EmbedderUnavailable, match=said) as caught:
        embedder_at("http://127.0.0.1:1/v1", "key=tei", api_keys=keys)
    assert caught.value.is_lasting
    assert "a\nb" not in str(caught.value)


def test_neither_key_nor_text_is_logged_or_told(embedder_at, pause, caplog):
    with caplog.at_level(logging.DEBUG), serving(raw(b"no", status=503)) as stub:
        embedder = embedder_at(stub, "key=tei", api_keys={"tei": KEY})
        for embed in (embedder.embed_query, lambda text: embedder.embed_passages([text])):
            with pytest.raises(EmbedderUnavailable) as caught:
                embed(TEXT)
            assert not any(secret in str(caught.value) for secret in (KEY, TEXT, "127.0.0.1"))
    assert KEY not in caplog.text
    assert TEXT not in caplog.text
    assert KEY not in repr(Endpoints(api_keys={"tei": KEY}))


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_is_refused_on_the_first_call(embedder_at, pause, name):
    with serving(GARBAGE[name]) as stub:
        embedder = embedder_at(stub)
        with pytest.raises(EmbedderUnavailable, match=r"Check (the )?url"):
            embedder.embed_passages(["a", "b", "c"])
        with pytest.raises(EmbedderUnavailable, match="The embedder"):
            embedder.embed_query("a")


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_is_refused_after_a_good_start(embedder_at, pause, name):
    with (
        serving(after_a_good_start(GARBAGE[name])) as stub,
        pytest.raises(EmbedderUnavailable, match="The embedder"),
    ):
        embedder_at(stub).embed_passages(["a" * 200, "b" * 200, "c" * 200])


def test_an_index_that_comes_twice_is_no_answer():
    with pytest.raises(BadAnswer, match="each index once"):
        vectors_of({"data": [item(0), item(0)]}, count=2, dim=DIM)


@pytest.mark.parametrize(
    "how", [well, after_a_good_start(items(lambda n: {"index": n, "embedding": [1.0] * 3}))]
)
def test_another_dimension_than_was_said_is_a_lasting_fault(embedder_at, how):
    with serving(how) as stub:
        url = stub.url.removesuffix("/rerank")
        dim = DIM if how is not well else 9
        embedder = make_endpoint_embedder(parse_spec(f"openai:m?url={url}&dim={dim}"), Endpoints(), threads=1)
        with pytest.raises(
            EmbedderUnavailable, match=rf"components, not {dim}; say which with \?dim=\d+"
        ) as caught:
            embedder.embed_passages(["a"])
    assert caught.value.is_lasting


@pytest.mark.parametrize(
    ("status", "is_lasting"),
    [
        (401, True),
        (403, True),
        (404, True),
        (400, True),
        (429, False),
        (500, False),
        (503, False),
        (408, False),
    ],
)
def test_what_can_pass_is_told_from_what_somebody_must_mend(embedder_at, pause, status, is_lasting):
    with serving(raw(b"{}", status=status)) as stub, pytest.raises(EmbedderUnavailable) as caught:
        embedder_at(stub).embed_passages(["a"])
    assert caught.value.is_lasting is is_lasting
    assert (len(stub.requests) > 1) is not is_lasting


def test_a_failure_that_passes_costs_growing_waits_with_jitter(embedder_at, pause):
    boom = raw(b"{}", status=500)
    with serving(in_turn(boom, boom, boom, well)) as stub:
        assert close_to(embedder_at(stub).embed_passages(["a"]), ["a"])
    assert len(stub.requests) == 5
    assert [0.25 * 2**n <= wait <= 0.5 * 2**n for n, wait in enumerate(pause.waits)] == [True] * 3


def test_a_rate_limit_is_kept(embedder_at, pause):
    limit = raw(b"{}", status=429, **{"Retry-After": "4"})
    with serving(in_turn(limit, well)) as stub:
        assert close_to(embedder_at(stub).embed_passages(["a"]), ["a"])
    assert pause.waits == [4.0]


@pytest.mark.parametrize(
    ("header", "least_s", "most_s"), [("120", 120, 120), ("soon", None, None), ("-1", None, None)]
)
def test_a_long_rate_limit_is_the_callers_to_keep(embedder_at, pause, header, least_s, most_s):
    with (
        serving(raw(b"{}", status=429, **{"Retry-After": header})) as stub,
        pytest.raises(EmbedderUnavailable) as caught,
    ):
        embedder_at(stub).embed_passages(["a"])
    assert (caught.value.retry_after_s, caught.value.is_lasting) == (least_s, False)


def test_a_rate_limit_may_be_a_date(embedder_at, pause):
    date = formatdate(time.time() + 3_600, usegmt=True)
    with (
        serving(raw(b"{}", status=429, **{"Retry-After": date})) as stub,
        pytest.raises(EmbedderUnavailable) as caught,
    ):
        embedder_at(stub).embed_passages(["a"])
    assert 3_000 < caught.value.retry_after_s <= 3_600


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_text_that_is_refused_is_embedded_by_its_beginning_and_costs_the_others_nothing(
    embedder_at, pause, status
):
    texts = ["short", "l" * 1_000, "words"]
    with serving(refusing(lambda text: len(text) > 300, status)) as stub:
        vectors = embedder_at(stub).embed_passages(texts)
    assert close_to(vectors, ["short", "l" * 250, "words"])


def test_a_text_that_is_refused_at_any_length_is_a_lasting_fault(embedder_at, pause):
    with (
        serving(refusing(lambda text: "bad" in text)) as stub,
        pytest.raises(EmbedderUnavailable, match="one text of 400 characters") as caught,
    ):
        embedder_at(stub).embed_passages(["good", "bad " * 100])
    assert caught.value.is_lasting


def test_a_longer_text_than_the_model_reads_is_cut(embedder_at):
    with serving(well) as stub:
        embedder_at(stub, "max_tokens=16").embed_passages(["a" * 100_000])
    assert len(stub.requests[-1]["input"][0]) == 16 * 16


@pytest.mark.parametrize("text", ["", "\x00", "\ud800", "部署"])
def test_any_text_can_be_sent(embedder_at, text):
    with serving(well) as stub:
        assert embedder_at(stub).embed_passages([text]).shape == (1, DIM)


@pytest.mark.parametrize("behaviour", [hang, drip_body])
def test_an_endpoint_that_never_ends_is_left_at_the_limit(embedder_at, behaviour):
    with serving(behaviour) as stub:
        embedder = embedder_at(stub, "limit_s=0.2", "query_limit_s=0.2")
        with pytest.raises(EmbedderUnavailable, match="did not answer"):
            embedder.embed_query("a")
    with serving(after_a_good_start(behaviour)) as stub:
        embedder = embedder_at(stub, "limit_s=0.2")
        embedder._check()
        with pytest.raises(EmbedderUnavailable, match="did not answer"):
            embedder._ask(["a"], 0.2)


@pytest.mark.parametrize(
    "behaviour", [die_before_the_answer, die_mid_body, flood, redirect_to("http://127.0.0.1:9/")]
)
def test_a_broken_answer_is_a_failure(embedder_at, pause, behaviour, monkeypatch):
    monkeypatch.setattr("search.embedders.endpoint._MAX_ANSWER_BYTES", 1_000_000)
    with serving(behaviour) as stub:
        embedder = embedder_at(stub)
        with pytest.raises(EmbedderUnavailable):
            embedder.embed_query("a")
        with pytest.raises(EmbedderUnavailable):
            embedder.embed_passages(["a"])


def test_nobody_listening_is_a_failure_that_may_pass(embedder_at, pause):
    embedder = embedder_at(f"http://127.0.0.1:{closed_port()}/v1")
    with pytest.raises(EmbedderUnavailable, match="can't be reached") as caught:
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


def test_a_query_is_asked_once_and_a_dead_endpoint_is_left_alone(embedder_at, pause):
    with serving(raw(b"{}", status=500)) as stub:
        embedder = embedder_at(stub)
        for _ in range(5):
            with pytest.raises(EmbedderUnavailable):
                embedder.embed_query("a")
        assert len(stub.requests) == 3
        stub.behaviour = well
        pause.now_s += 31
        assert close_to([embedder.embed_query("a")], ["a"])
        assert close_to([embedder.embed_query("b")], ["b"])


def test_queries_that_are_refused_do_not_make_it_a_dead_endpoint(embedder_at):
    with serving(refusing(lambda text: text == "bad")) as stub:
        embedder = embedder_at(stub)
        for _ in range(5):
            with pytest.raises(EmbedderUnavailable, match="answered 400"):
                embedder.embed_query("bad")
        assert close_to([embedder.embed_query("good")], ["good"])


def test_an_unknown_dimension_has_to_be_said(tmp_path):
    with pytest.raises(EmbedderUnavailable, match=r"add \?dim=NUMBER"):
        make_embedder("openai:some-model", models_dir=tmp_path, threads=1)
    embedder = make_embedder("openai:text-embedding-3-large", models_dir=tmp_path, threads=1)
    assert (embedder.space.dim, embedder.max_tokens) == (3072, 8191)
