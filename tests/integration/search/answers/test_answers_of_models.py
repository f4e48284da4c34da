"""Answers of a model, complete or failed, and their final states."""

import logging

import pytest

from search.models import KeptAnswer
from tests.integration.search.answers.guides import put_guides as fill  # noqa: F401  once for the module
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
from tests.integration.search.context.workspace_files import index, put_file
from tests.support.http_stub import closed_port

QUESTION = "How do I run the installer on Linux?"


def test_text_that_cites_given_passages_is_grounded(ask, workspace, use):
    stub = use(says("Run `sudo ", "./setup.sh` [", "#1]."))
    answer = ask(QUESTION)

    assert (answer["state"], answer["reason"]) == ("grounded", None)
    assert answer["text"] == "Run `sudo ./setup.sh` [#1]."
    assert answer["model"] == "parrot"
    assert answer["usage"] == {"prompt_tokens": 120, "completion_tokens": 7}
    [citation] = answer["citations"]
    assert citation["uri"] == "guides/install.md#L3-L9"
    assert "Run the installer with `sudo ./setup.sh`." in citation["quote"]
    assert citation["trust_level"] == "primary"
    assert answer["hits"][0]["chunk_id"] == citation["chunk_id"]
    assert stub.paths == ["/v1/chat/completions"]


def test_streamed_and_whole_answers_are_read_alike(ask, workspace, use):
    for streams in (True, False):
        for behaviour in (says("So it is [#1]."), whole("So it is [#1].")):
            stub = use(behaviour, streams=streams)
            answer = ask(QUESTION)
            assert (answer["state"], answer["text"]) == ("grounded", "So it is [#1].")
            assert stub.requests[0]["stream"] is streams
            assert answer["usage"]["prompt_tokens"] == 120


UNGROUNDED = [
    ("It is so.", "no_marker", []),
    ("It is so [#1], and so [#42].", "unknown_marker", [1]),
    ("It is so [#0].", "unknown_marker", []),
    ("It is so [#01].", "unknown_marker", []),
    ("It is so [#1000].", "no_marker", []),
    ("It is so [1] (#1) [# 1].", "no_marker", []),
    ("", "empty", []),
    (" \n ", "empty", []),
]


def test_text_without_a_given_marker_is_ungrounded(ask, workspace, use, subtests):
    for text, reason, cited in UNGROUNDED:
        with subtests.test(text=text):
            use(says(text))
            answer = ask(QUESTION)
            assert (answer["state"], answer["reason"]) == ("ungrounded", reason)
            assert [citation["n"] for citation in answer["citations"]] == cited


def test_citations_come_in_the_order_in_which_the_text_names_them(ask, workspace, use):
    use(says("First [#2], then [#1], and [#2] again."))
    answer = ask(QUESTION)

    assert [citation["n"] for citation in answer["citations"]] == [2, 1]
    ranked = {hit["n"]: hit["chunk_id"] for hit in answer["hits"]}
    assert [citation["chunk_id"] for citation in answer["citations"]] == [ranked[2], ranked[1]]


FAILURES = {
    "dies": (dies, "model_died"),
    "ends early": (ends_early, "model_died"),
    "errs": (errs, "model_died"),
    "429": (replies({}, status=429, Retry_After="30"), "rate_limited"),
    "500": (replies({}, status=500), "model_unavailable"),
    "401": (replies({}, status=401), "model_refused"),
    "404": (replies({}, status=404), "model_refused"),
    "redirect": (replies({}, status=307, Location="http://127.0.0.1:9/"), "model_refused"),
    "no JSON": (replies(b"<html>"), "model_died"),
    "no choice": (replies({"choices": []}), "model_died"),
    "a list": (replies([1]), "model_died"),
    "no text": (replies(completion({"a": 1})), "model_died"),
    "deep": (replies(b"[" * 100_000), "model_died"),
}


def test_model_without_a_whole_answer_has_failed(ask, workspace, use, caplog, subtests):
    for name, (behaviour, reason) in FAILURES.items():
        with subtests.test(case=name), caplog.at_level(logging.INFO):
            stub = use(behaviour, key="top-secret")
            answer = ask(QUESTION)
            assert (answer["state"], answer["reason"]) == ("failed", reason)
            assert len(stub.requests) == 1
            texts = f"{answer['warnings']} {caplog.text}"
            assert not any(word in texts for word in ("127.0.0.1", "top-secret", "installer"))
            if name == "dies":  # what had come is kept
                assert answer["text"].startswith("Run the installer [#1].")
                assert KeptAnswer.objects.get(pk=answer["answer_id"]).text == answer["text"]


@pytest.mark.parametrize("behaviour", [hangs, drips])
def test_model_that_never_ends_is_left_at_the_limit(ask, workspace, use, behaviour):
    stub = use(behaviour, limit_s=1)
    answer = ask(QUESTION)
    assert (answer["state"], answer["reason"], len(stub.requests)) == ("failed", "model_timeout", 1)


def test_model_out_of_reach_has_failed(ask, workspace, use_model_at):
    for url in (f"http://127.0.0.1:{closed_port()}/v1", "nonsense"):
        use_model_at(url)
        answer = ask(QUESTION)
        assert (answer["state"], answer["reason"]) == ("failed", "model_unavailable")


def test_a_name_that_leads_to_a_private_address_is_not_asked(ask, workspace, use, use_model_at, monkeypatch):
    stub = use(says("So it is [#1]."))
    named = stub.url.replace("127.0.0.1", "model.example")
    addresses = [(2, 1, 6, "", ("127.0.0.1", 0))]
    monkeypatch.setattr("kebab.http_client.connections.socket.getaddrinfo", lambda *_, **__: addresses)
    use_model_at(named)
    answer = ask(QUESTION)

    assert (answer["state"], answer["reason"]) == ("failed", "model_unavailable")
    assert stub.requests == []


def test_a_model_that_fails_again_and_again_is_left_alone(ask, workspace, use):
    stub = use(replies({}, status=500))
    reasons = [ask(QUESTION)["reason"] for _ in range(4)]

    assert reasons == ["model_unavailable"] * 4
    assert len(stub.requests) == 3


def test_configured_api_key_is_sent(ask, workspace, use):
    stub = use(says("So it is [#1]."), key="k-1")
    ask(QUESTION)
    assert stub.headers[0]["authorization"] == "Bearer k-1"

    stub = use(says("So it is [#1]."))
    ask(QUESTION)
    assert "authorization" not in stub.headers[0]


UNCOVERED = "Who won the chess olympiad in Tromsø?"


def test_model_is_asked_whether_passages_that_lack_words_answer(ask, workspace, use):
    stub = use(says("They don't ", "say so."))
    refused = ask(UNCOVERED)

    assert (refused["state"], refused["reason"]) == ("refused", "not_covered")
    assert (refused["text"], refused["citations"], refused["model"]) == ("", [], "parrot")
    assert len(stub.requests) == 1
    use(says("So it is [", "#1]."))
    assert (ask(UNCOVERED)["state"], ask(UNCOVERED)["text"]) == ("grounded", "So it is [#1].")


def test_model_fails_over_uncovered_passages_instead_of_refusing(ask, workspace, use):
    use(dies)
    assert (ask(UNCOVERED)["state"], ask(UNCOVERED)["reason"]) == ("failed", "model_died")


def test_refusal_without_passages_asks_no_model(ask, workspace, use):
    stub = use(says("So it is [#1]."))
    for question in ("zzyzx", "!?"):
        answer = ask(question, mode="lexical")
        assert (answer["state"], answer["reason"]) == ("refused", "no_chunks")
        assert (answer["text"], answer["citations"], answer["model"]) == ("", [], None)
    answer = ask(QUESTION, filters={"source": ["empty"]})
    assert (answer["state"], answer["reason"]) == ("refused", "no_chunks")
    assert stub.requests == []


def test_question_for_another_clause_than_all_passages_have_asks_no_model(ask, workspace, use):
    put_file(
        workspace, "guides/contract.md", "# Contract\n\nClause 6.5 asks for a report within nine days.\n"
    )
    index(workspace)
    workspace.refresh_from_db()
    stub = use(says("Within nine days [#1]."))
    filters = {"path_glob": ["guides/contract.md"]}
    answer = ask("Within how many days does clause 5.6 ask for a report?", mode="lexical", filters=filters)
    assert (answer["state"], answer["reason"]) == ("refused", "not_covered")
    assert stub.requests == []
    assert (
        ask("Within how many days does clause 6.5 ask for a report?", filters=filters)["state"] == "grounded"
    )


def test_the_score_gate_of_the_workspace_refuses(ask, workspace, use):
    workspace.settings = {"score_gate": 1.0}
    workspace.save()
    stub = use(says("So it is [#1]."))
    answer = ask("printer paper floor of the building", mode="lexical")

    assert (answer["state"], answer["reason"]) == ("refused", "score_gate")
    assert stub.requests == []


def test_unstorable_characters_are_removed_from_answers(ask, workspace, use):
    use(whole("So\x00 it \ud800is\u202e [#1]."))
    assert ask(QUESTION)["text"] == "So it is [#1]."
