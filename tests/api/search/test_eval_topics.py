"""Topics over HTTP: stored, listed, exported and deleted."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from kebab.identity.models import AuditEvent, Role
from search.models import Judgement, Topic
from search.models.evaluation import MAX_SET_CHARS, MAX_TOPIC_CHARS, MAX_TOPIC_ID_CHARS
from tests.api.refusals import refusal_of
from tests.api.topics import (
    APPLES,
    PEARS,
    ZEBRAS,
    close_source,
    manager_of,
    post_topics,
    row_values,
    write_fruit,
)
from tests.support.actors import member_client
from tests.support.api import address

GOLDEN = """
set: silver
topics:
  - id: apples
    query: apple harvest
    relevant:
      - doc: apples.md
  - id: zebras
    query: zebras
    unanswerable: true
"""


@pytest.fixture
def manager(workspace):
    write_fruit(workspace)
    return manager_of(workspace)


def send_files(client, workspace, **fields):
    files = {
        name: SimpleUploadedFile(f"{name}.txt", text.encode() if isinstance(text, str) else text)
        for name, text in fields.items()
        if name in ("file", "qrels")
    }
    rest = {name: value for name, value in fields.items() if name not in files}
    return client.post(address(workspace, "/eval/topics"), {**rest, **files}, format="multipart")


def test_topics_are_stored_with_their_judgements_and_filters(manager, workspace):
    filters = {"lang": ["en"], "source": ["docs"], "trust_min": "primary"}
    answer = post_topics(manager, workspace, {**APPLES, "filters": filters}, ZEBRAS, set="fruit")
    body = {"set": "fruit", "added": 2, "changed": 0, "unchanged": 0}
    assert (answer.status_code, answer.json()) == (201, body)
    apples, zebras = manager.get(address(workspace, "/eval/topics")).json()["results"]
    judgement = {"path": "apples.md", "source": "docs", "version": "", "fragment": "L1-L9", "grade": 2}
    assert (apples["set"], apples["query"], apples["judgements"]) == ("fruit", "apple harvest", [judgement])
    assert (apples["is_unanswerable"], zebras["is_unanswerable"], zebras["judgements"]) == (False, True, [])
    assert (apples["origin"], apples["filters"]) == ("imported", filters)
    assert apples["created_by"].startswith("kbb_")


def test_stored_topic_is_updated_only_when_it_differs(manager, workspace):
    post_topics(manager, workspace, APPLES, PEARS)
    answer = post_topics(manager, workspace, {**APPLES, "query": "apples"}, PEARS)
    assert answer.json() == {"set": "golden", "added": 0, "changed": 1, "unchanged": 1}
    assert Topic.objects.get(topic_id="apples").text == "apples"


def test_topics_and_sets_are_listed(manager, workspace):
    post_topics(manager, workspace, ZEBRAS, APPLES, set="b")
    post_topics(manager, workspace, PEARS, set="a")
    page = manager.get(address(workspace, "/eval/topics?limit=2")).json()
    rest = row_values(manager, workspace, f"/eval/topics?limit=2&cursor={page['next_cursor']}")

    assert [row["topic_id"] for row in page["results"]] + rest == ["pears", "apples", "zebras"]
    assert row_values(manager, workspace, "/eval/topics?set=b") == ["apples", "zebras"]
    assert row_values(manager, workspace, "/eval/topics?set=c") == []
    assert manager.get(address(workspace, "/eval/topics/sets")).json()["results"] == [
        {"set": "a", "topics": 1, "judged": 1, "unanswerable": 0},
        {"set": "b", "topics": 2, "judged": 1, "unanswerable": 1},
    ]


def test_topic_is_read_and_deleted_by_its_id(manager, workspace):
    post_topics(manager, workspace, APPLES, PEARS)
    pk = Topic.objects.get(topic_id="apples").pk
    path = address(workspace, f"/eval/topics/{pk}")
    assert manager.get(path).json()["topic_id"] == "apples"

    assert manager.delete(path).status_code == 204
    assert (manager.get(path).status_code, manager.delete(path).status_code) == (404, 404)
    assert row_values(manager, workspace) == ["pears"]
    assert Judgement.objects.count() == 1


def test_whole_set_is_deleted_and_audited(manager, workspace):
    post_topics(manager, workspace, APPLES, PEARS)
    post_topics(manager, workspace, ZEBRAS, set="other")
    path = address(workspace, "/eval/topics?set=golden")
    assert manager.delete(path).json() == {"set": "golden", "deleted": 2}
    assert row_values(manager, workspace) == ["zebras"]
    assert manager.delete(path).status_code == 404
    assert refusal_of(manager.delete(address(workspace, "/eval/topics"))) == (400, "invalid_request", "set")
    events = AuditEvent.objects.filter(workspace=workspace, action__startswith="topics.")
    assert set(events.values_list("action", "subject")) == {
        ("topics.kept", "golden"),
        ("topics.kept", "other"),
        ("topics.deleted", "golden"),
    }


def test_golden_file_is_imported_and_exported(manager, workspace):
    answer = send_files(manager, workspace, file=GOLDEN)
    assert (answer.status_code, answer.json()["set"], answer.json()["added"]) == (201, "silver", 2)
    exported = manager.get(address(workspace, "/eval/topics/export?set=silver"))
    assert exported.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert 'filename="golden.yaml"' in exported.headers["Content-Disposition"]

    again = send_files(manager, workspace, file=exported.content)
    assert again.json() == {"set": "silver", "added": 0, "changed": 0, "unchanged": 2}


@pytest.mark.parametrize("format_", ["trec", "beir"])
def test_pair_of_files_is_exported_and_imported(manager, workspace, format_):
    post_topics(manager, workspace, PEARS, set="first")
    names = {"trec": ("trec-topics", "trec-qrels"), "beir": ("beir-queries", "beir-qrels")}[format_]
    queries, qrels = (
        manager.get(address(workspace, f"/eval/topics/export?set=first&format={name}")).content
        for name in names
    )
    answer = send_files(manager, workspace, file=queries, qrels=qrels, format=format_, set="second")
    assert (answer.status_code, answer.json()["added"]) == (201, 1), answer.content
    (kept,) = manager.get(address(workspace, "/eval/topics?set=second")).json()["results"]
    (judgement,) = kept["judgements"]
    assert (kept["query"], judgement["path"], judgement["source"]) == ("pear harvest", "pears.md", "docs")


def test_trec_topics_need_no_judgements(manager, workspace):
    answer = send_files(manager, workspace, file="1\tapple harvest\n", format="trec")
    assert (answer.status_code, Judgement.objects.count()) == (201, 0)


WRONG_FILES = [
    ({"file": "topics: ["}, "invalid_judged_set", None),
    ({"file": b"\xff\xfe"}, "invalid_request", "file"),
    ({"file": GOLDEN, "qrels": "q 0 d 1"}, "invalid_request", "qrels"),
    ({"file": "1\ta\n", "qrels": "1 0 d", "format": "trec"}, "invalid_judged_set", None),
    ({"file": '{"_id": "1", "text": "a"}', "format": "beir"}, "invalid_request", "qrels"),
    ({"file": GOLDEN, "format": "csv"}, "invalid_request", "format"),
    ({"format": "golden"}, "invalid_request", "file"),
    ({"file": GOLDEN, "sett": "x"}, "unknown_field", "sett"),
    ({"file": GOLDEN, "set": "s" * (MAX_SET_CHARS + 1)}, "invalid_request", "set"),
]
WRONG_TOPICS = [
    ({}, 400, "invalid_request", "topics[0].topic_id"),
    ({"topic_id": "a"}, 400, "invalid_request", "topics[0].query"),
    ({"topic_id": "a", "query": "b" * (MAX_TOPIC_CHARS + 1)}, 400, "invalid_request", "topics[0].query"),
    ({**PEARS, "topic_id": "a" * (MAX_TOPIC_ID_CHARS + 1)}, 400, "invalid_request", "topics[0].topic_id"),
    ({"topic_id": "a", "query": " "}, 400, "invalid_judged_set", None),
    ({"topic_id": "a", "query": ""}, 400, "invalid_request", "topics[0].query"),
    ({**APPLES, "filters": {"colour": ["red"]}}, 400, "invalid_judged_set", None),
    ({**APPLES, "filters": ["red"]}, 400, "invalid_judged_set", None),
    ({**APPLES, "is_unanswerable": True}, 400, "invalid_judged_set", None),
    ({**APPLES, "is_unanswerable": "maybe"}, 400, "invalid_request", "topics[0].is_unanswerable"),
    ({**APPLES, "grade": 1}, 400, "unknown_field", "topics[0].grade"),
    ({**APPLES, "judgements": [{}]}, 400, "invalid_request", "topics[0].judgements[0].path"),
    ({**APPLES, "judgements": [{"path": "/a"}]}, 400, "invalid_judged_set", None),
    ({**APPLES, "judgements": [{"path": "a", "fragment": "L"}]}, 400, "invalid_judged_set", None),
    ({**APPLES, "judgements": [{"path": "a", "source": "gone"}]}, 422, "unknown_source", None),
    (
        {**APPLES, "judgements": [{"path": "a", "grade": 1_001}]},
        400,
        "invalid_request",
        "topics[0].judgements[0].grade",
    ),
    ({**APPLES, "judgements": [{"path": "a"}, {"path": "a"}]}, 400, "invalid_judged_set", None),
]
WRONG_BODIES = [
    ({}, "invalid_request", "topics"),
    ({"topics": []}, "invalid_request", "topics"),
    ({"topics": [APPLES] * 1_001}, "invalid_request", "topics"),
    ({"topics": [APPLES], "set": ""}, "invalid_request", "set"),
    ({"topics": "apples"}, "invalid_request", "topics"),
    ({"topics": [APPLES, APPLES]}, "invalid_judged_set", None),
]


def test_wrong_topics_are_refused(manager, workspace, subtests):
    for fields, code, field in WRONG_FILES:
        with subtests.test(fields=str(fields)[:60]):
            assert refusal_of(send_files(manager, workspace, **fields)) == (400, code, field)
    for topic, *expected in WRONG_TOPICS:
        with subtests.test(topic=str(topic)[:90]):
            assert refusal_of(post_topics(manager, workspace, topic)) == tuple(expected)
    path = address(workspace, "/eval/topics")
    for body, code, field in WRONG_BODIES:
        with subtests.test(body=str(body)[:60]):
            assert refusal_of(manager.post(path, body, format="json")) == (400, code, field)
    twice = json.dumps({"topics": [APPLES]})[:-1] + ', "topics": []}'
    strict = manager.post(path, twice, content_type="application/json")
    assert refusal_of(strict) == (400, "invalid_json", None)
    form = {"content_type": "multipart/form-data; boundary=b", "CONTENT_LENGTH": "20000001"}
    assert refusal_of(manager.post(path, b"--b--", **form)) == (413, "too_large", None)
    assert not Topic.objects.exists()


def test_wrong_parameter_is_refused_by_its_field(manager, workspace, subtests):
    for tail, expected in (
        ("?sets=a", (400, "unknown_field", "sets")),
        ("?limit=0", (400, "invalid_request", "limit")),
        ("?cursor=x", (400, "invalid_cursor", None)),
        ("/sets?set=a", (400, "unknown_field", "set")),
        ("/export?format=csv", (400, "invalid_request", "format")),
        ("/export?set=", (400, "invalid_request", "set")),
        ("/export?set=none", (404, "not_found", None)),
    ):
        with subtests.test(tail=tail):
            assert refusal_of(manager.get(address(workspace, f"/eval/topics{tail}"))) == expected


def test_request_with_an_idempotency_key_is_done_once(manager, workspace):
    path, body = address(workspace, "/eval/topics"), {"topics": [APPLES]}
    first, second = (
        manager.post(path, body, format="json", headers={"Idempotency-Key": "once"}) for _ in range(2)
    )
    assert first.json() == second.json() == {"set": "golden", "added": 1, "changed": 0, "unchanged": 0}
    assert second.headers["Idempotency-Replayed"] == "true"


def test_topics_need_an_admin(workspace):
    write_fruit(workspace)
    for role, status in ((Role.VIEWER, 403), (Role.EDITOR, 403), (Role.ADMIN, 201)):
        assert post_topics(member_client(workspace, role), workspace, APPLES).status_code == status


class TestHiddenTopics:
    """Topics whose judgements name a source that the caller may not read."""

    SECRET = {
        "topic_id": "secret",
        "query": "apple harvest",
        "judgements": [{"path": "secret.md", "source": "closed"}],
    }

    @pytest.fixture
    def inside(self, workspace):
        write_fruit(workspace)
        client = manager_of(workspace, close_source(workspace))
        assert post_topics(client, workspace, self.SECRET, APPLES).status_code == 201
        return client

    def test_hidden_topic_is_not_listed_counted_read_exported_or_deleted(self, inside, workspace):
        outside = manager_of(workspace)
        pk = Topic.objects.get(topic_id="secret").pk
        assert (row_values(outside, workspace), row_values(inside, workspace)) == (
            ["apples"],
            ["apples", "secret"],
        )
        assert row_values(member_client(workspace, Role.ADMIN), workspace) == ["apples", "secret"]
        sets = outside.get(address(workspace, "/eval/topics/sets")).json()["results"]
        assert sets[0]["topics"] == 1
        assert outside.get(address(workspace, f"/eval/topics/{pk}")).status_code == 404
        assert outside.delete(address(workspace, f"/eval/topics/{pk}")).status_code == 404
        exported = outside.get(address(workspace, "/eval/topics/export")).content
        assert b"secret" not in exported
        assert outside.delete(address(workspace, "/eval/topics?set=golden")).json()["deleted"] == 1
        assert row_values(inside, workspace) == ["secret"]

    def test_hidden_source_is_refused_like_a_missing_one(self, inside, workspace):
        outside = manager_of(workspace)
        missing = {**self.SECRET, "judgements": [{"path": "secret.md", "source": "cloded"}]}
        hidden, absent = (
            post_topics(outside, workspace, {**each, "topic_id": "mine"}) for each in (self.SECRET, missing)
        )
        assert hidden.status_code == absent.status_code
        assert hidden.content.replace(b"closed", b"cloded") == absent.content
