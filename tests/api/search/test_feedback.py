"""Feedback over HTTP: given, listed, and made into topics."""

import pytest

from kebab.identity.models import GroupMember, Membership, Role
from search.models import Feedback, Topic
from search.models.evaluation import MAX_TOPIC_CHARS
from tests.api.refusals import refusal_of
from tests.api.topics import close_source, manager_of, row_values, write_fruit
from tests.support.actors import make_member, member_client, person_client
from tests.support.api import address

FEEDBACK = {"query": "Apple  harvest", "source": "docs", "citation": "apples.md#L1-L9", "is_relevant": True}
SECRET = {"source": "closed", "citation": "secret.md"}


@pytest.fixture
def fruit(workspace):
    write_fruit(workspace)
    return workspace


@pytest.fixture
def insider(fruit):
    """Return a person who may read the closed source, and the row that allows it."""
    group, person = close_source(fruit), make_member(fruit, Role.VIEWER)
    membership = Membership.objects.get(user=person)
    row = GroupMember.objects.create(workspace=fruit, group=group, membership=membership)
    return person_client(person), row


def give(client, workspace, *, headers=None, **fields):
    body = {**FEEDBACK, **fields}
    return client.post(address(workspace, "/feedback"), body, format="json", headers=headers or {})


def test_feedback_is_stored_and_listed(reader, fruit):
    answer = give(reader, fruit)
    body = answer.json()
    assert answer.status_code == 201, answer.content
    expected = {"query": "Apple harvest", "source": "docs", "path": "apples.md", "fragment": "L1-L9"}
    assert {name: body[name] for name in expected} == expected
    assert (body["is_relevant"], body["version"]) == (True, "")
    assert body["actor"].startswith("kbb_")
    assert row_values(reader, fruit, "/feedback", "id") == [body["id"]]


def test_last_feedback_on_a_document_counts(reader, fruit):
    give(reader, fruit)
    give(reader, fruit, query="apple harvest", citation="apples.md", is_relevant=False)
    assert [(row.fragment, row.is_relevant) for row in Feedback.objects.all()] == [("", False)]


def test_people_see_their_own_feedback_and_managers_all(fruit):
    mine, other = member_client(fruit), member_client(fruit)
    give(mine, fruit)
    give(other, fruit, is_relevant=False)
    assert row_values(mine, fruit, "/feedback", "is_relevant") == [True]
    assert row_values(other, fruit, "/feedback", "is_relevant") == [False]
    assert len(row_values(member_client(fruit, Role.ADMIN), fruit, "/feedback", "id")) == 2
    assert len(row_values(manager_of(fruit), fruit, "/feedback", "id")) == 2


def test_feedback_is_listed_newest_first_by_page(reader, fruit):
    for query in ("one", "two", "three"):
        give(reader, fruit, query=query)
    page = reader.get(address(fruit, "/feedback?limit=2")).json()
    rest = row_values(reader, fruit, f"/feedback?cursor={page['next_cursor']}", "query")
    assert [row["query"] for row in page["results"]] + rest == ["three", "two", "one"]


def test_wrong_feedback_is_refused(reader, fruit, subtests):
    for fields, code, field in (
        ({"query": ""}, "invalid_request", "query"),
        ({"query": "a" * (MAX_TOPIC_CHARS + 1)}, "invalid_request", "query"),
        ({"source": ""}, "invalid_request", "source"),
        ({"citation": ""}, "invalid_request", "citation"),
        ({"citation": "apples.md#L0"}, "invalid_citation", None),
        ({"is_relevant": "perhaps"}, "invalid_request", "is_relevant"),
        ({"is_relevant": None}, "invalid_request", "is_relevant"),
        ({"version": None}, "invalid_request", "version"),
        ({"stars": 5}, "unknown_field", "stars"),
    ):
        with subtests.test(fields=str(fields)[:40]):
            assert refusal_of(give(reader, fruit, **fields)) == (400, code, field)
    for name in FEEDBACK:
        body = {key: value for key, value in FEEDBACK.items() if key != name}
        answer = reader.post(address(fruit, "/feedback"), body, format="json")
        assert refusal_of(answer) == (400, "invalid_request", name)
    for fields in ({"citation": "figs.md"}, {"source": "nowhere"}, {"version": "v9"}):
        assert refusal_of(give(reader, fruit, **fields)) == (404, "not_found", None)
    assert not Feedback.objects.exists()


def test_hidden_document_is_missing(reader, fruit):
    close_source(fruit)
    hidden = give(reader, fruit, **SECRET)
    absent = give(reader, fruit, **{**SECRET, "source": "cloded"})
    assert (hidden.status_code, hidden.content) == (404, absent.content)


def test_feedback_on_a_source_is_hidden_with_the_source(fruit, insider):
    client, row = insider
    assert give(client, fruit, **SECRET).status_code == 201
    assert row_values(client, fruit, "/feedback", "path") == ["secret.md"]
    row.delete()

    assert row_values(client, fruit, "/feedback", "path") == []
    assert row_values(manager_of(fruit), fruit, "/feedback", "path") == []
    assert row_values(member_client(fruit, Role.ADMIN), fruit, "/feedback", "path") == ["secret.md"]


def test_replayed_answer_is_hidden_with_the_source(fruit, insider):
    client, row = insider
    key = {"Idempotency-Key": "once"}
    first, second = (give(client, fruit, headers=key, **SECRET) for _ in range(2))
    row.delete()
    third = give(client, fruit, headers=key, **SECRET)

    assert (first.json(), second.headers["Idempotency-Replayed"]) == (second.json(), "true")
    assert (third.status_code, b"secret" in third.content) == (404, False)


def test_topics_are_created_from_majority_feedback(fruit):
    for is_relevant in (True, True, False):
        give(member_client(fruit), fruit, is_relevant=is_relevant)
    give(member_client(fruit), fruit, citation="pears.md", is_relevant=False)
    manager = manager_of(fruit)
    path = address(fruit, "/eval/topics/from-feedback")
    answer = manager.post(path, {}, format="json")

    body = {"set": "feedback", "added": 1, "changed": 0, "unchanged": 0}
    assert (answer.status_code, answer.json()) == (201, body)
    topic = manager.get(address(fruit, "/eval/topics?set=feedback")).json()["results"][0]
    assert (topic["origin"], topic["query"]) == ("feedback", "Apple harvest")
    grades = {each["path"]: each["grade"] for each in topic["judgements"]}
    assert grades == {"apples.md": 1, "pears.md": 0}
    assert manager.post(path, {"set": "said"}, format="json").json()["set"] == "said"
    assert Topic.objects.count() == 2
    for body, expected in (
        ({"set": ""}, (400, "invalid_request", "set")),
        ({"sets": "a"}, (400, "unknown_field", "sets")),
    ):
        assert refusal_of(manager.post(path, body, format="json")) == expected
