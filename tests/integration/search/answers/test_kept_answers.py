"""Answers are stored for their asker, as long as the documents cited exist and may be read."""

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from kebab.identity.models import Group, Role
from kebab.identity.models.workspace import Workspace
from kebab.people.workspaces import store_settings
from search.answers.conversation import prune_answers, store_answer
from search.corpus import delete_documents
from search.models import AnswerDocument, Document, KeptAnswer, Source
from tests.integration.search.answers.factories import make_answer
from tests.integration.search.answers.stub import says
from tests.integration.search.context.workspace_files import index, put_file
from tests.support.actors import make_member, person_client, token_client
from tests.support.corpus import make_workspace, restrict, write

QUESTION = "When does the backup run?"


@pytest.fixture
def at(workspace):
    return lambda tail="": f"/api/v1/workspaces/{workspace.slug}/answers{tail}"


def doc_id(path):
    return Document.objects.get(path=path).doc_id


def test_answers_and_refusals_are_read_as_they_were_given(ask, guides, asker, at, use):
    given = [ask(QUESTION), ask("Who won the chess olympiad in Tromsø?")]
    use(says("Every night [#1]."))
    given.append(ask(QUESTION))
    assert [answer["state"] for answer in given] == ["extractive", "refused", "grounded"]
    for answer in given:
        assert asker.get(at(f"/{answer['answer_id']}")).json() == answer


def test_own_answers_are_listed_newest_first(ask, guides, asker, at):
    asked = [ask(question)["answer_id"] for question in (QUESTION, "Who approves travel?", QUESTION)]
    first = asker.get(at("?limit=2")).json()
    rest = asker.get(at(f"?limit=2&cursor={first['next_cursor']}")).json()

    assert [row["answer_id"] for row in first["results"] + rest["results"]] == asked[::-1]
    assert rest["next_cursor"] is None
    row = first["results"][0]
    assert (row["question"], row["state"], row["reason"]) == (QUESTION, "extractive", None)


def test_stored_answers_are_visible_to_asker_and_reviewers_only(ask, guides, asker, workspace, at):
    answer = at(f"/{ask(QUESTION)['answer_id']}")
    reviewers = [token_client(workspace, "ask", "manage"), person_client(make_member(workspace, Role.ADMIN))]
    others = [token_client(workspace, "ask"), person_client(make_member(workspace, Role.EDITOR))]

    for client in [asker, *reviewers]:
        assert client.get(answer).status_code == 200
        assert len(client.get(at()).json()["results"]) == 1
    for client in others:
        assert client.get(answer).status_code == 404
        assert client.get(f"{answer}/check").status_code == 404
        assert client.delete(answer).status_code == 404
        assert client.get(at()).json()["results"] == []


def test_deleted_and_foreign_answers_are_not_found(ask, guides, asker, at):
    answer_id = ask(QUESTION)["answer_id"]
    other = make_workspace()
    client = token_client(other, "ask", "manage")
    assert client.get(f"/api/v1/workspaces/{other.slug}/answers/{answer_id}").status_code == 404

    assert asker.delete(at(f"/{answer_id}")).status_code == 204
    assert asker.get(at(f"/{answer_id}")).status_code == 404
    assert asker.delete(at(f"/{answer_id}")).status_code == 404
    assert not AnswerDocument.objects.exists()


def test_stored_answer_is_deleted_with_a_document_it_cites(ask, guides, asker, at):
    first = ask(QUESTION)
    alone = ask("Who approves travel?", filters={"path_glob": ["guides/travel.md"]})
    delete_documents(guides, [doc_id("guides/backup.md")])

    assert asker.get(at(f"/{first['answer_id']}")).status_code == 404
    assert asker.get(at(f"/{alone['answer_id']}")).status_code == 200
    assert not KeptAnswer.objects.filter(text__contains="three o'clock").exists()


def test_follow_up_answer_is_deleted_with_documents_of_the_first(ask, guides, use):
    stub = use(says("Every night at three o'clock [#1]."))
    only = {"path_glob": ["guides/backup.md"]}
    conversation = ask(QUESTION, filters=only)["conversation_id"]
    travel = {"path_glob": ["guides/travel.md"]}
    ask("Who approves travel of the department?", conversation_id=conversation, filters=travel)
    assert "three o'clock" in stub.requests[1]["messages"][1]["content"]
    delete_documents(guides, [doc_id("guides/backup.md")])

    assert not KeptAnswer.objects.exists()


def test_answers_go_with_their_workspace(ask, guides):
    ask(QUESTION)
    Workspace.objects.filter(pk=guides.pk).delete()
    assert not KeptAnswer.objects.exists()


def test_answers_are_kept_for_as_long_as_their_workspace_says(workspace):
    elsewhere = make_workspace()
    for place in (workspace, elsewhere):
        write(place, "b.md", "text")
        for age in (0, 20, 40):
            created_at = timezone.now() - timedelta(days=age)
            make_answer(Document.objects.get(workspace=place), created_at=created_at)
    for days, kept in ((None, 3), (0, 3), (30, 2), (1, 1)):
        before = KeptAnswer.objects.filter(workspace=workspace).count()
        store_settings(workspace, {"answers_kept_days": days})
        assert prune_answers() == before - kept
        assert KeptAnswer.objects.filter(workspace=workspace).count() == kept
        assert KeptAnswer.objects.filter(workspace=elsewhere).count() == 3
        assert AnswerDocument.objects.count() == 3 + kept


def test_stored_answer_from_a_hidden_source_is_not_found(ask, guides, workspace, at):
    put_file(workspace, "secret.md", "# Vaults\n\nThe vault opens with the word velmoor.\n", source="closed")
    index(workspace)
    token = token_client(workspace, "ask")
    answer = ask("Which word opens the vault?", client=token)
    assert "velmoor" in answer["text"]
    restrict(Source.objects.get(key="closed"), Group.objects.create(workspace=workspace, name="crew"))

    for tail in (f"/{answer['answer_id']}", f"/{answer['answer_id']}/check"):
        assert token.get(at(tail)).status_code == 404
    assert token.get(at()).json()["results"] == []
    again = ask("Which word opens the vault?", client=token)
    assert "velmoor" not in str(again)
    going_on = {"question": "And?", "conversation_id": answer["conversation_id"]}
    at_ask = f"/api/v1/workspaces/{workspace.slug}/ask"
    assert token.post(at_ask, going_on, format="json").status_code == 404


def test_answer_is_not_stored_when_its_document_is_deleted_concurrently(ask, guides, monkeypatch):
    def keep_late(workspace, asker, answer, doc_ids):
        delete_documents(guides, [uuid.UUID(hex=each) for each in doc_ids])
        return store_answer(workspace, asker, answer, doc_ids)

    monkeypatch.setattr("search.answers.answer.store_answer", keep_late)
    answer = ask(QUESTION)

    assert answer["warnings"]
    assert not KeptAnswer.objects.exists()


def test_a_question_sent_twice_under_a_key_is_answered_once(guides, asker, workspace, use):
    stub = use(says("Every night [#1]."))
    at_ask = f"/api/v1/workspaces/{workspace.slug}/ask"
    first, again = (
        asker.post(at_ask, {"question": QUESTION}, format="json", headers={"Idempotency-Key": "1"})
        for _ in range(2)
    )

    assert first.json() == again.json()
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    assert len(stub.requests) == 1
    delete_documents(guides, [doc_id("guides/backup.md")])
    gone = asker.post(at_ask, {"question": QUESTION}, format="json", headers={"Idempotency-Key": "1"})
    assert gone.status_code == 404


# --- Checking ---------------------------------------------------------------------------------------------


@pytest.fixture
def check(asker, at):
    def get(answer):
        return asker.get(at(f"/{answer['answer_id']}/check")).json()["citations"]

    return get


def test_moved_quote_is_cited_at_its_new_place(ask, guides, check):
    answer = ask(QUESTION)
    [checked] = check(answer)
    assert (checked["state"], checked["cited_uri"]) == ("stands", "guides/backup.md#L3-L7")
    assert checked["citation"]["uri"] == "guides/backup.md#L3-L7"
    put_file(
        guides,
        "guides/backup.md",
        "# Backups\n\n## Why\n\nDisks break.\n\n## When\n\nA backup runs every night at three o'clock. Now"
        " they are kept for a year.\n",
    )
    [checked] = check(answer)

    assert checked["state"] == "stands"
    assert checked["cited_uri"] == "guides/backup.md#L3-L7"
    assert checked["citation"]["uri"] == "guides/backup.md#L3-L9"


def test_a_cited_text_that_is_not_there_any_more_has_changed(ask, guides, check):
    answer = ask(QUESTION)
    put_file(guides, "guides/backup.md", "# Backups\n\nA backup runs every Sunday.\n")
    [checked] = check(answer)

    assert (checked["state"], checked["citation"]) == ("changed", None)
    assert check(ask("Who won the chess olympiad in Tromsø?")) == []
