"""Answers without a model: the documents' own sentences, labelled so."""

import pytest

from tests.integration.search.context.filling import index, put

pytestmark = pytest.mark.usefixtures("guides")


def test_the_best_sentence_is_quoted_with_its_place(ask):
    answer = ask("Who approves travel?")

    assert (answer["state"], answer["reason"]) == ("extractive", None)
    assert answer["text"].startswith("The head of the department approves travel. [#1]")
    assert (answer["model"], answer["usage"]) == (None, None)
    first = answer["citations"][0]
    assert (first["n"], first["uri"]) == (1, "guides/travel.md#L3")
    assert first["quote"] == "The head of the department approves travel."
    assert first["heading_path"] == ["Travel"]


def test_every_marker_leads_to_a_citation_and_every_citation_has_one(ask):
    answer = ask("How do I run the installer, and how do I restore a backup?")

    assert all(f"[#{each['n']}]" in answer["text"] for each in answer["citations"])
    assert {each["citation"]["path"] for each in answer["citations"]} == {
        "guides/install.md",
        "guides/backup.md",
    }
    assert all(each["quote"] in answer["text"] for each in answer["citations"])


def test_the_same_question_on_the_same_documents_has_the_same_answer(ask):
    one, other = ask("When does the backup run?"), ask("When does the backup run?")
    assert (one["text"], one["citations"], one["hits"]) == (other["text"], other["citations"], other["hits"])


def test_what_is_as_in_a_search_may_be_null_as_there(ask):
    question = "Who approves travel?"
    nulls = ask(question, filters=None, mode=None, min_seq=None)
    assert (nulls["text"], nulls["mode"]) == (ask(question)["text"], "hybrid")


@pytest.mark.parametrize("mode", ["lexical", "vector", "hybrid"])
def test_every_mode_answers(ask, mode):
    answer = ask("Which paper does the printer take?", mode=mode)
    assert (answer["state"], answer["mode"]) == ("extractive", mode)
    assert "A3 paper" in answer["text"]


def test_filters_narrow_what_is_answered_from(ask):
    answer = ask("Who approves travel?", filters={"path_glob": ["guides/printers.md"]})
    assert {hit["citation"]["path"] for hit in answer["hits"]} <= {"guides/printers.md"}
    assert answer["state"] == "refused"


def test_k_bounds_the_hits(ask):
    assert len(ask("Who approves travel?", k=1)["hits"]) == 1


def test_documents_forge_no_marker_in_an_answer(ask, workspace):
    put(
        workspace,
        "forged.md",
        "# Zeppelins\n\nZeppelins dock at the north tower [#9] [#\x7f8] [#1](http://x.example).\n",
    )
    index(workspace)
    answer = ask("Where do zeppelins dock?")

    assert (
        "Zeppelins dock at the north tower (no. 9) (no. 8) (no. 1)(http://x.example). [#1]" in answer["text"]
    )
    assert [each["n"] for each in answer["citations"]] == [1]
    assert "[#9]" in answer["citations"][0]["quote"]


def test_a_question_in_quotes_is_no_query_language(ask):
    assert ask("'Who approves travel?'")["state"] == "extractive"
    assert ask("'\"'")["state"] == "refused"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"question": ""}, "question"),
        ({"question": " "}, "question"),
        ({"question": "x" * 4_001}, "question"),
        ({}, "question"),
        ({"question": "x", "k": 0}, "k"),
        ({"question": "x", "k": 9}, "k"),
        ({"question": "x", "mode": "nonsense"}, "mode"),
        ({"question": "x", "filters": {"path_glob": ["["]}}, "filters.path_glob"),
        ({"question": "x", "conversation_id": "1"}, "conversation_id"),
        ({"question": "x", "stream": True}, "stream"),
        ({"question": "x", "min_seq": 10_000}, "min_seq"),
    ],
)
def test_what_can_not_be_asked_is_refused_by_name(asker, workspace, body, field):
    response = asker.post(f"/api/v1/workspaces/{workspace.slug}/ask", body, format="json")

    assert response.status_code == 400, response.content
    assert [error["field"] for error in response.json()["errors"]] == [field]


def test_a_sentence_is_whole_however_its_lines_are_broken(ask, workspace):
    text = (
        "# Moorings\n\nBoats lie at their moorings while the harbour freezes, e.g. in\n"
        "January, and nobody may leave the quay before the ice breaker\nhas come. Ask the warden.\n\n"
        "- ropes are in the shed\n- the quay is lit at night\n"
    )
    put(workspace, "moorings.md", text)
    index(workspace)

    whole = "Boats lie at their moorings while the harbour freezes, e.g. in January, and nobody may leave the"
    assert whole in ask("Where do boats lie while the harbour freezes?")["text"]
    assert "- the quay is lit at night [#" in ask("Is the quay lit at night?")["text"]
