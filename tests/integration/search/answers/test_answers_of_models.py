"""What a model writes, or fails to, and the state that each answer ends in."""

import logging
import re

import pytest

from search.answers.configured import configured_model
from search.embedders.tokenizer import TokenCounter
from search.models import KeptAnswer
from tests.integration.search.answers.stub import (
    completion,
    dies,
    drips,
    ends_early,
    errs,
    hangs,
    replies,
    says,
    whole,
)
from tests.integration.search.context.filling import index, put
from tests.integration.search.rerank.stub import closed_port

QUESTION = "How do I run the installer on Linux?"


def test_a_text_that_cites_what_it_was_given_is_grounded(ask, guides, use):
    stub = use(says("Run `sudo ", "./setup.sh` [", "#1]."))
    answer = ask(QUESTION)

    assert (answer["state"], answer["reason"]) == ("grounded", None)
    assert answer["text"] == "Run `sudo ./setup.sh` [#1]."
    assert answer["model"] == "parrot"
    assert answer["usage"] == {"prompt_tokens": 120, "completion_tokens": 7}
    [citation] = answer["citations"]
    assert citation["uri"] == "guides/install.md#L5"
    assert citation["quote"] == "Run the installer with `sudo ./setup.sh`. It needs 200 MB of disk space."
    assert citation["trust_level"] == "primary"
    assert answer["hits"][0]["chunk_id"] == citation["chunk_id"]
    assert stub.paths == ["/v1/chat/completions"]


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("behaviour", [says("So it is [#1]."), whole("So it is [#1].")])
def test_streams_and_whole_answers_are_read_alike(ask, guides, use, streams, behaviour):
    stub = use(behaviour, streams=streams)
    answer = ask(QUESTION)

    assert (answer["state"], answer["text"]) == ("grounded", "So it is [#1].")
    assert stub.requests[0]["stream"] is streams
    assert answer["usage"]["prompt_tokens"] == 120


@pytest.mark.parametrize(
    ("text", "reason", "cited"),
    [
        ("It is so.", "no_marker", []),
        ("It is so [#1], and so [#42].", "unknown_marker", [1]),
        ("It is so [#0].", "unknown_marker", []),
        ("It is so [#01].", "unknown_marker", []),
        ("It is so [#1000].", "no_marker", []),
        ("It is so [1] (#1) [# 1].", "no_marker", []),
        ("", "empty", []),
        (" \n ", "empty", []),
    ],
)
def test_a_text_that_does_not_is_ungrounded(ask, guides, use, text, reason, cited):
    use(says(text))
    answer = ask(QUESTION)

    assert (answer["state"], answer["reason"]) == ("ungrounded", reason)
    assert [citation["n"] for citation in answer["citations"]] == cited


def test_citations_come_in_the_order_in_which_the_text_names_them(ask, guides, use):
    use(says("First [#2], then [#1], and [#2] again."))
    answer = ask(QUESTION)

    assert [citation["n"] for citation in answer["citations"]] == [2, 1]
    ranked = {hit["n"]: hit["chunk_id"] for hit in answer["hits"]}
    assert [citation["chunk_id"] for citation in answer["citations"]] == [ranked[2], ranked[1]]


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        pytest.param(hangs, "model_timeout", id="hangs"),
        pytest.param(drips, "model_timeout", id="drips"),
        pytest.param(dies, "model_died", id="dies"),
        pytest.param(ends_early, "model_died", id="ends early"),
        pytest.param(errs, "model_died", id="errs"),
        pytest.param(replies({}, status=429, Retry_After="30"), "rate_limited", id="429"),
        pytest.param(replies({}, status=500), "model_unavailable", id="500"),
        pytest.param(replies({}, status=401), "model_refused", id="401"),
        pytest.param(replies({}, status=404), "model_refused", id="404"),
        pytest.param(replies({}, status=307, Location="http://127.0.0.1:9/"), "model_refused", id="redirect"),
        pytest.param(replies(b"<html>"), "model_died", id="no JSON"),
        pytest.param(replies({"choices": []}), "model_died", id="no choice"),
        pytest.param(replies([1]), "model_died", id="a list"),
        pytest.param(replies(completion({"a": 1})), "model_died", id="no text"),
        pytest.param(replies(b"[" * 100_000), "model_died", id="deep"),
    ],
)
def test_a_model_that_gives_no_whole_answer_has_failed(ask, guides, use, behaviour, reason, caplog):
    stub = use(behaviour, limit_s=1 if reason == "model_timeout" else 50, key="top-secret")
    with caplog.at_level(logging.INFO):
        answer = ask(QUESTION)

    assert (answer["state"], answer["reason"]) == ("failed", reason)
    assert len(stub.requests) == 1
    assert answer["warnings"][0].startswith("The model ")
    told = f"{answer['warnings']} {caplog.text}"
    assert not any(word in told for word in ("127.0.0.1", "top-secret", "installer"))


def test_what_had_come_of_a_broken_answer_is_kept_with_it(ask, guides, use):
    use(dies)
    answer = ask(QUESTION)

    assert answer["text"].startswith("Run the installer [#1].")
    assert KeptAnswer.objects.get().text == answer["text"]


@pytest.mark.parametrize("url", [lambda: f"http://127.0.0.1:{closed_port()}/v1", lambda: "nonsense"])
def test_a_model_out_of_reach_has_failed(ask, guides, use_model_at, url):
    use_model_at(url())
    answer = ask(QUESTION)

    assert (answer["state"], answer["reason"]) == ("failed", "model_unavailable")


def test_a_name_that_leads_to_a_private_address_is_not_asked(ask, guides, use, use_model_at, monkeypatch):
    stub = use(says("So it is [#1]."))
    named = stub.url.replace("127.0.0.1", "model.example")
    addresses = [(2, 1, 6, "", ("127.0.0.1", 0))]
    monkeypatch.setattr("kebab.outgoing.addresses.socket.getaddrinfo", lambda *_, **__: addresses)
    use_model_at(named)
    answer = ask(QUESTION)

    assert (answer["state"], answer["reason"]) == ("failed", "model_unavailable")
    assert stub.requests == []


def test_a_model_that_fails_again_and_again_is_left_alone(ask, guides, use):
    stub = use(replies({}, status=500))
    reasons = [ask(QUESTION)["reason"] for _ in range(4)]

    assert reasons == ["model_unavailable"] * 4
    assert len(stub.requests) == 3


def test_a_key_is_sent_where_there_is_one(ask, guides, use):
    stub = use(says("So it is [#1]."), key="k-1")
    ask(QUESTION)
    assert stub.headers[0]["authorization"] == "Bearer k-1"

    stub = use(says("So it is [#1]."))
    ask(QUESTION)
    assert "authorization" not in stub.headers[0]


def test_passages_fit_into_the_models_context(ask, guides, use):
    for number in range(6):
        text = f"Run the installer on Linux machine {number}: it unpacks, checks and starts. " * 8
        put(guides, f"guides/linux-{number}.md", f"# Installer {number}\n\n{text}\n")
    index(guides)
    stub = use(says("So it is [#1]."), context_tokens=1_500)
    narrow = ask(QUESTION)
    sent = stub.requests[0]["messages"]
    shown = re.findall(r"(?m)^\[#(\d+)\] source=", sent[1]["content"])
    # A quarter of the context is left for the answer, and a model may make twelve tokens of our ten.
    room = 1_500 * 3 / 4 * 10 / 12

    assert 0 < len(shown) < len(narrow["hits"])
    assert shown == [str(hit["n"]) for hit in narrow["hits"] if hit["n"] is not None]
    assert sum(TokenCounter().count(message["content"]) for message in sent) <= room

    use(says("So it is [#1]."), context_tokens=8_192)
    assert all(hit["n"] is not None for hit in ask(QUESTION)["hits"])


@pytest.mark.parametrize("question", ["Who won the chess olympiad in Tromsø?", "zzyzx", "!?", "der die das"])
def test_a_refusal_asks_no_model(ask, guides, use, question):
    stub = use(says("So it is [#1]."))
    answer = ask(question)

    assert answer["state"] == "refused"
    assert answer["reason"] in {"no_chunks", "not_covered"}
    assert (answer["text"], answer["citations"], answer["model"]) == ("", [], None)
    assert stub.requests == []


def test_an_empty_workspace_refuses(ask, use):
    stub = use(says("So it is [#1]."))
    answer = ask(QUESTION)

    assert (answer["state"], answer["reason"]) == ("refused", "no_chunks")
    assert stub.requests == []


def test_the_score_gate_of_the_workspace_refuses(ask, guides, use):
    guides.settings = {"score_gate": 1.0}
    guides.save()
    stub = use(says("So it is [#1]."))
    answer = ask("printer paper floor of the building", mode="lexical")

    assert (answer["state"], answer["reason"]) == ("refused", "score_gate")
    assert stub.requests == []


def test_what_no_database_keeps_does_not_reach_it(ask, guides, use):
    use(whole("So\x00 it \ud800is\u202e [#1]."))
    assert ask(QUESTION)["text"] == "So it is [#1]."


def test_the_model_is_made_once_for_the_process(guides, use):
    use(says("So it is [#1]."))
    assert configured_model() is configured_model()
