"""Answers without a model: sentences of the documents, labelled as such."""

from datetime import timedelta

from django.utils import timezone

from search.models import Document
from tests.drills.answers.beginnings import build_log
from tests.integration.search.answers.guides import put_guides as fill  # noqa: F401  once for the module

WRONG = [
    ({"question": ""}, "question"),
    ({"question": " "}, "question"),
    ({"question": "x" * 8_001}, "question"),
    ({}, "question"),
    ({"question": "x", "k": 0}, "k"),
    ({"question": "x", "k": 9}, "k"),
    ({"question": "x", "recency": 1.1}, "recency"),
    ({"question": "x", "mode": "nonsense"}, "mode"),
    ({"question": "x", "filters": {"path_glob": ["["]}}, "filters.path_glob"),
    ({"question": "x", "conversation_id": "1"}, "conversation_id"),
    ({"question": "x", "stream": True}, "stream"),
    ({"question": "x", "min_seq": 10_000}, "min_seq"),
]


def test_best_sentence_is_quoted_with_its_place(ask):
    answer = ask("Who approves travel?")

    assert (answer["state"], answer["reason"]) == ("extractive", None)
    assert answer["text"].startswith("The head of the department approves travel. [#1]")
    assert (answer["model"], answer["usage"]) == (None, None)
    first = answer["citations"][0]
    assert (first["n"], first["uri"]) == (1, "guides/travel.md#L3-L7")
    assert first["quote"] == "The head of the department approves travel."
    assert first["heading_path"] == ["Travel"]


def test_each_marker_has_a_citation_and_each_citation_a_marker(ask):
    answer = ask("How do I run the installer, and how do I restore a backup?")

    assert all(f"[#{each['n']}]" in answer["text"] for each in answer["citations"])
    cited = {each["citation"]["path"] for each in answer["citations"]}
    assert cited == {"guides/install.md", "guides/backup.md"}
    assert all(each["quote"] in answer["text"] for each in answer["citations"])


def test_sentence_from_elsewhere_with_one_word_of_the_question_is_not_quoted(ask):
    answer = ask("Who approves travel to a printer?")

    assert [each["quote"] for each in answer["citations"]] == ["The head of the department approves travel."]


def test_same_question_has_the_same_answer_and_nulls_are_defaults(ask):
    question = "When does the backup run?"
    one, other = ask(question), ask(question, filters=None, mode=None, min_seq=None)
    assert (one["text"], one["citations"], one["hits"]) == (other["text"], other["citations"], other["hits"])
    assert one["mode"] == other["mode"] == "hybrid"


def test_each_mode_answers(ask):
    for mode in ("lexical", "vector", "hybrid"):
        answer = ask("Which paper does the printer take?", mode=mode)
        assert (answer["state"], answer["mode"]) == ("extractive", mode)
        assert "A3 paper" in answer["text"]


def test_filters_and_k_limit_the_passages_of_an_answer(ask):
    answer = ask("Who approves travel?", filters={"path_glob": ["guides/printers.md"]})
    assert {hit["citation"]["path"] for hit in answer["hits"]} <= {"guides/printers.md"}
    assert answer["state"] == "refused"
    assert len(ask("Who approves travel?", k=1)["hits"]) == 1


BEGINNINGS = [
    "Hello everyone, {}",
    "Because my sister wants to know, {}",
    "We talked about flights and hotels in Lisbon at lunch. {} Thanks in advance!",
    "Hallo zusammen, ich bin neu hier. {}",
    f"{build_log()}\n{{}}",
    f"{{}}\n\n{build_log()}",
]


def test_question_behind_a_beginning_is_answered_as_without_it(ask):
    alone, outside = ask("Who approves travel?"), "Who won the chess olympiad in Tromsø?"
    for beginning in BEGINNINGS:
        assert ask(beginning.format("Who approves travel?"))["text"] == alone["text"]
        assert ask(beginning.format(outside))["state"] == "refused"


def test_recency_prefers_newer_documents(ask, workspace):
    old = Document.objects.in_workspace(workspace).get(path="guides/travel.md")
    Document.objects.filter(pk=old.pk).update(dated_at=timezone.now() - timedelta(days=3650))
    of_any_age, of_today = (ask("Who approves travel?", recency=recency) for recency in (0, 1))
    old_id = old.doc_id.hex
    scores = [
        next(hit["score"] for hit in answer["hits"] if hit["doc_id"] == old_id)
        for answer in (of_any_age, of_today)
    ]
    assert scores[1] < scores[0]
    assert of_any_age["hits"][0]["doc_id"] == old_id != of_today["hits"][0]["doc_id"]
    assert of_today["reason"] != "score_gate"


def test_quoted_question_is_not_parsed_as_fts5_syntax(ask):
    assert ask("'Who approves travel?'")["state"] == "extractive"
    assert ask("'\"'")["state"] == "refused"


def test_wrong_fields_are_refused_by_name(asker, workspace, subtests):
    for body, field in WRONG:
        with subtests.test(body=body):
            response = asker.post(f"/api/v1/workspaces/{workspace.slug}/ask", body, format="json")
            assert response.status_code == 400, response.content
            assert [error["field"] for error in response.json()["errors"]] == [field]
