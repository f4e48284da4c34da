"""Follow-up questions."""

import uuid

from tests.integration.search.answers.stub import in_turn, says
from tests.support.actors import token_client


def test_a_question_without_a_conversation_begins_one(ask, guides):
    one, other = ask("Who approves travel?"), ask("Who approves travel?")
    assert one["conversation_id"] != other["conversation_id"]


def test_short_question_is_searched_with_the_conversation(ask, guides):
    backup = ask("How do I restore a backup with vaultctl?")
    travel = ask("Who approves travel of the department?", conversation_id=backup["conversation_id"])
    second = ask("How come?", conversation_id=travel["conversation_id"])

    assert ask("How come?")["state"] == "refused"
    assert second["conversation_id"] == backup["conversation_id"]
    assert (second["question"], second["state"]) == ("How come?", "extractive")
    assert second["hits"][0]["chunk_id"] == travel["hits"][0]["chunk_id"]
    assert {citation["citation"]["path"] for citation in second["citations"]} == {"guides/travel.md"}


def test_consecutive_short_questions_are_searched_with_the_conversation(ask, guides):
    travel = ask("Who approves travel of the department?")
    for question in ("How?", "How come?"):
        again = ask(question, conversation_id=travel["conversation_id"])
        assert again["hits"][0]["chunk_id"] == travel["hits"][0]["chunk_id"]


def test_self_contained_follow_up_is_searched_without_the_conversation(ask, guides):
    question = "Which printer takes A3 paper?"
    backup = ask("How do I restore a backup with vaultctl?")
    alone = ask(question)
    second = ask(question, conversation_id=backup["conversation_id"])

    assert second["hits"] == alone["hits"]
    assert second["text"] == alone["text"]


def test_follow_up_keeps_its_subject_through_many_turns(ask, guides):
    answer = ask("How do I restore a backup with vaultctl?")
    for _ in range(4):
        answer = ask("And how long?", conversation_id=answer["conversation_id"])
        assert answer["citations"][0]["citation"]["path"] == "guides/backup.md"


def test_new_topic_in_two_words_drops_the_subject(ask, guides):
    backup = ask("How do I restore a backup with vaultctl?")
    toner = ask("printer toner", conversation_id=backup["conversation_id"])
    assert toner["text"] == ask("printer toner")["text"]
    again = ask("Where is it?", conversation_id=backup["conversation_id"])
    assert again["citations"][0]["citation"]["path"] == "guides/printers.md"


def test_model_gets_earlier_turns_as_data(ask, guides, use):
    stub = use(in_turn([says("Run `./setup.sh` [#1]."), says("Start `setup.exe` [#1].")]))
    first = ask("How do I run the installer on Linux?")
    ask("How do I run the installer on Windows?", conversation_id=first["conversation_id"])
    messages = stub.requests[1]["messages"]

    assert [message["role"] for message in messages] == ["system", "user"]
    assert (
        "| Q: How do I run the installer on Linux?\n| A: Run `./setup.sh` (no. 1)." in messages[1]["content"]
    )
    assert messages[0] == stub.requests[0]["messages"][0]


def test_answers_are_listed_by_conversation(ask, guides, asker, workspace):
    first = ask("Who approves travel?")
    second = ask("And expenses?", conversation_id=first["conversation_id"])
    ask("Who approves travel?")
    at = f"/api/v1/workspaces/{workspace.slug}/answers?conversation_id={first['conversation_id']}"

    listed = [row["answer_id"] for row in asker.get(at).json()["results"]]
    assert listed == [second["answer_id"], first["answer_id"]]


def test_conversation_of_another_caller_is_not_found(ask, guides, workspace):
    conversation_id = ask("Who approves travel?")["conversation_id"]
    at = f"/api/v1/workspaces/{workspace.slug}/ask"
    for client, named in [
        (token_client(workspace, "ask", "manage"), conversation_id),
        (token_client(workspace, "ask"), str(uuid.uuid4())),
    ]:
        body = {"question": "And expenses?", "conversation_id": named}
        response = client.post(at, body, format="json")
        assert response.status_code == 404
