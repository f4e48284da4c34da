"""Feedback over HTTP: what anybody who searches says of hits, who sees it, and the topics that come of it."""

import pytest

from kebab.people.models import GroupMember, Membership, Role
from search.models import Feedback, Topic
from search.models.evaluation import MAX_TOPIC_CHARS
from tests.api.judging import close_source, listed, manager_of, refused, write_fruit
from tests.support.actors import make_member, member_client, person_client, token_client
from tests.support.api import address

SAID = {"query": "Apple  harvest", "source": "docs", "citation": "apples.md#L1-L9", "is_relevant": True}


@pytest.fixture
def fruit(workspace):
    write_fruit(workspace)
    return workspace


def say(client, workspace, **fields):
    return client.post(address(workspace, "/feedback"), {**SAID, **fields}, format="json")


def test_a_hit_is_said_to_answer_a_query(reader, fruit):
    answer = say(reader, fruit)
    body = answer.json()
    assert answer.status_code == 201, answer.content
    assert (body["query"], body["source"], body["path"], body["fragment"]) == (
        "Apple harvest",
        "docs",
        "apples.md",
        "L1-L9",
    )
    assert (body["is_relevant"], body["version"]) == (True, "")
    assert body["actor"].startswith("kbb_")
    assert listed(reader, fruit, "/feedback", "id") == [body["id"]]


def test_the_last_word_on_a_document_counts(reader, fruit):
    say(reader, fruit)
    say(reader, fruit, query="apple harvest", citation="apples.md", is_relevant=False)
    assert [(row.fragment, row.is_relevant) for row in Feedback.objects.all()] == [("", False)]


def test_each_speaks_for_themselves_and_sees_their_own(fruit):
    mine, other = member_client(fruit), member_client(fruit)
    say(mine, fruit)
    say(other, fruit, is_relevant=False)
    assert listed(mine, fruit, "/feedback", "is_relevant") == [True]
    assert listed(other, fruit, "/feedback", "is_relevant") == [False]


def test_who_manages_sees_what_everybody_said(fruit):
    say(member_client(fruit), fruit)
    say(member_client(fruit), fruit, is_relevant=False)
    assert len(listed(member_client(fruit, Role.ADMIN), fruit, "/feedback", "id")) == 2
    assert len(listed(manager_of(fruit), fruit, "/feedback", "id")) == 2


def test_it_is_listed_newest_first_by_page(reader, fruit):
    for query in ("one", "two", "three"):
        say(reader, fruit, query=query)
    page = reader.get(address(fruit, "/feedback?limit=2")).json()
    rest = listed(reader, fruit, f"/feedback?cursor={page['next_cursor']}", "query")
    assert [row["query"] for row in page["results"]] + rest == ["three", "two", "one"]


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"query": ""}, "invalid_request", "query"),
        ({"query": "a" * (MAX_TOPIC_CHARS + 1)}, "invalid_request", "query"),
        ({"source": ""}, "invalid_request", "source"),
        ({"citation": ""}, "invalid_request", "citation"),
        ({"citation": "apples.md#L0"}, "invalid_citation", None),
        ({"is_relevant": "perhaps"}, "invalid_request", "is_relevant"),
        ({"is_relevant": None}, "invalid_request", "is_relevant"),
        ({"version": None}, "invalid_request", "version"),
        ({"stars": 5}, "unknown_field", "stars"),
    ],
)
def test_what_can_not_be_said_is_refused(reader, fruit, fields, code, field):
    answer = say(reader, fruit, **fields)
    assert (answer.status_code, refused(answer, code, field)) == (400, True), answer.content
    assert not Feedback.objects.exists()


@pytest.mark.parametrize("name", ["query", "citation", "source", "is_relevant"])
def test_what_is_needed_is_asked_for(reader, fruit, name):
    body = {key: value for key, value in SAID.items() if key != name}
    answer = reader.post(address(fruit, "/feedback"), body, format="json")
    assert refused(answer, "invalid_request", name)


@pytest.mark.parametrize("fields", [{"citation": "figs.md"}, {"source": "nowhere"}, {"version": "v9"}])
def test_what_is_not_there_is_missing(reader, fruit, fields):
    assert say(reader, fruit, **fields).status_code == 404


def test_a_document_that_may_not_be_read_is_missing_too(reader, fruit):
    close_source(fruit)
    hidden = say(reader, fruit, source="closed", citation="secret.md")
    absent = say(reader, fruit, source="cloded", citation="secret.md")
    assert (hidden.status_code, hidden.content) == (404, absent.content)


def test_what_was_said_of_a_source_goes_with_the_right_to_read_it(fruit):
    group = close_source(fruit)
    person = make_member(fruit, Role.VIEWER)
    membership = Membership.objects.get(user=person)
    row = GroupMember.objects.create(workspace=fruit, group=group, membership=membership)
    client = person_client(person)
    assert say(client, fruit, source="closed", citation="secret.md").status_code == 201
    assert listed(client, fruit, "/feedback", "path") == ["secret.md"]
    row.delete()

    assert listed(client, fruit, "/feedback", "path") == []
    assert listed(manager_of(fruit), fruit, "/feedback", "path") == []
    assert listed(member_client(fruit, Role.ADMIN), fruit, "/feedback", "path") == ["secret.md"]


def test_a_kept_answer_goes_with_the_right_to_read_it(fruit):
    group = close_source(fruit)
    person = make_member(fruit, Role.VIEWER)
    row = GroupMember.objects.create(
        workspace=fruit, group=group, membership=Membership.objects.get(user=person)
    )
    client, body = person_client(person), {**SAID, "source": "closed", "citation": "secret.md"}
    sent = {"format": "json", "headers": {"Idempotency-Key": "once"}}
    first = client.post(address(fruit, "/feedback"), body, **sent)
    second = client.post(address(fruit, "/feedback"), body, **sent)
    row.delete()
    third = client.post(address(fruit, "/feedback"), body, **sent)

    assert (first.json(), second.headers["Idempotency-Replayed"]) == (second.json(), "true")
    assert (third.status_code, b"secret" in third.content) == (404, False)


@pytest.mark.parametrize("scopes", [(), ("manage",), ("ingest",), ("ask",)])
def test_it_takes_the_scope_to_search(fruit, scopes):
    client = token_client(fruit, *scopes)
    assert say(client, fruit).status_code == 403
    assert client.get(address(fruit, "/feedback")).status_code == 403


def test_another_workspace_is_missing(reader, fruit, other_workspace):
    assert say(reader, other_workspace).status_code == 404
    assert reader.get(address(other_workspace, "/feedback")).status_code == 404


def test_topics_come_of_what_most_found_relevant(fruit):
    for is_relevant in (True, True, False):
        say(member_client(fruit), fruit, is_relevant=is_relevant)
    say(member_client(fruit), fruit, citation="pears.md", is_relevant=False)
    manager = manager_of(fruit)
    path = address(fruit, "/eval/topics/from-feedback")
    answer = manager.post(path, {}, format="json")

    assert (answer.status_code, answer.json()) == (
        201,
        {"set": "feedback", "added": 1, "changed": 0, "unchanged": 0},
    )
    topic = manager.get(address(fruit, "/eval/topics?set=feedback")).json()["results"][0]
    assert (topic["origin"], topic["query"]) == ("feedback", "Apple harvest")
    assert {(each["path"], each["grade"]) for each in topic["judgements"]} == {
        ("apples.md", 1),
        ("pears.md", 0),
    }
    assert manager.post(path, {"set": "said"}, format="json").json()["set"] == "said"
    assert Topic.objects.count() == 2


@pytest.mark.parametrize("body", [{"set": ""}, {"sets": "a"}])
def test_topics_of_feedback_need_a_set(fruit, body):
    answer = manager_of(fruit).post(address(fruit, "/eval/topics/from-feedback"), body, format="json")
    assert answer.status_code == 400
