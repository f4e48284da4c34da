"""Topics over HTTP: keeping, listing, deleting, files, and who may."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from kebab.people.models import AuditEvent, Role
from search.models import Judgement, Topic
from search.models.evaluation import MAX_SET_CHARS, MAX_TOPIC_CHARS, MAX_TOPIC_ID_CHARS
from tests.api.judging import (
    APPLES,
    PEARS,
    ZEBRAS,
    close_source,
    listed,
    manager_of,
    outsiders,
    post_topics,
    refused,
    write_fruit,
)
from tests.support.actors import member_client, token_client
from tests.support.api import address
from tests.support.corpus import write

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


def test_topics_are_kept_with_their_judgements(manager, workspace):
    answer = post_topics(manager, workspace, APPLES, ZEBRAS, set="fruit")
    assert (answer.status_code, answer.json()) == (
        201,
        {"set": "fruit", "added": 2, "changed": 0, "unchanged": 0},
    )
    apples, zebras = manager.get(address(workspace, "/eval/topics")).json()["results"]
    judgement = {"path": "apples.md", "source": "docs", "version": "", "fragment": "L1-L9", "grade": 2}
    assert (apples["set"], apples["query"], apples["judgements"]) == ("fruit", "apple harvest", [judgement])
    assert (apples["is_unanswerable"], zebras["is_unanswerable"], zebras["judgements"]) == (False, True, [])
    assert apples["origin"] == "imported"
    assert apples["created_by"].startswith("kbb_")


def test_a_topic_that_is_known_is_changed_or_stays(manager, workspace):
    post_topics(manager, workspace, APPLES, PEARS)
    answer = post_topics(manager, workspace, {**APPLES, "query": "apples"}, PEARS)
    assert answer.json() == {"set": "golden", "added": 0, "changed": 1, "unchanged": 1}
    assert Topic.objects.get(topic_id="apples").text == "apples"


def test_topics_keep_their_filters(manager, workspace):
    filters = {"lang": ["en"], "source": ["docs"], "trust_min": "primary"}
    answer = post_topics(manager, workspace, {**APPLES, "filters": filters})
    assert answer.status_code == 201, answer.content
    assert manager.get(address(workspace, "/eval/topics")).json()["results"][0]["filters"] == filters


def test_topics_are_listed_by_set_and_page(manager, workspace):
    post_topics(manager, workspace, ZEBRAS, APPLES, set="b")
    post_topics(manager, workspace, PEARS, set="a")
    page = manager.get(address(workspace, "/eval/topics?limit=2")).json()
    rest = listed(manager, workspace, f"/eval/topics?limit=2&cursor={page['next_cursor']}")

    assert [row["topic_id"] for row in page["results"]] + rest == ["pears", "apples", "zebras"]
    assert listed(manager, workspace, "/eval/topics?set=b") == ["apples", "zebras"]
    assert listed(manager, workspace, "/eval/topics?set=c") == []


def test_sets_are_listed_with_their_counts(manager, workspace):
    post_topics(manager, workspace, APPLES, ZEBRAS)
    post_topics(manager, workspace, PEARS, set="fruit")
    assert manager.get(address(workspace, "/eval/topics/sets")).json()["results"] == [
        {"set": "fruit", "topics": 1, "judged": 1, "unanswerable": 0},
        {"set": "golden", "topics": 2, "judged": 1, "unanswerable": 1},
    ]


def test_a_topic_is_given_and_deleted_by_its_id(manager, workspace):
    post_topics(manager, workspace, APPLES, PEARS)
    pk = Topic.objects.get(topic_id="apples").pk
    path = address(workspace, f"/eval/topics/{pk}")
    assert manager.get(path).json()["topic_id"] == "apples"

    assert manager.delete(path).status_code == 204
    assert (manager.get(path).status_code, manager.delete(path).status_code) == (404, 404)
    assert listed(manager, workspace) == ["pears"]
    assert Judgement.objects.count() == 1


def test_a_set_is_deleted_whole(manager, workspace):
    post_topics(manager, workspace, APPLES, PEARS)
    post_topics(manager, workspace, ZEBRAS, set="other")
    path = address(workspace, "/eval/topics?set=golden")
    assert manager.delete(path).json() == {"set": "golden", "deleted": 2}
    assert listed(manager, workspace) == ["zebras"]
    assert manager.delete(path).status_code == 404
    assert manager.delete(address(workspace, "/eval/topics")).status_code == 400


def test_acts_are_in_the_audit_log(manager, workspace):
    post_topics(manager, workspace, APPLES)
    manager.delete(address(workspace, "/eval/topics?set=golden"))
    events = AuditEvent.objects.filter(workspace=workspace, action__startswith="topics.")
    assert set(events.values_list("action", "subject")) == {
        ("topics.kept", "golden"),
        ("topics.deleted", "golden"),
    }


def test_a_golden_file_is_taken_and_given_back(manager, workspace):
    answer = send_files(manager, workspace, file=GOLDEN)
    assert (answer.status_code, answer.json()["set"], answer.json()["added"]) == (201, "silver", 2)
    exported = manager.get(address(workspace, "/eval/topics/export?set=silver"))
    assert exported.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert 'filename="golden.yaml"' in exported.headers["Content-Disposition"]

    again = send_files(manager, workspace, file=exported.content)
    assert again.json() == {"set": "silver", "added": 0, "changed": 0, "unchanged": 2}


@pytest.mark.parametrize("format_", ["trec", "beir"])
def test_two_files_are_taken_and_given_back(manager, workspace, format_):
    post_topics(manager, workspace, PEARS, set="first")
    names = {"trec": ("trec-topics", "trec-qrels"), "beir": ("beir-queries", "beir-qrels")}[format_]
    queries, qrels = (
        manager.get(address(workspace, f"/eval/topics/export?set=first&format={name}")).content
        for name in names
    )
    answer = send_files(manager, workspace, file=queries, qrels=qrels, format=format_, set="second")
    assert (answer.status_code, answer.json()["added"]) == (201, 1), answer.content
    kept = manager.get(address(workspace, "/eval/topics?set=second")).json()["results"][0]
    assert (kept["query"], kept["judgements"][0]["path"], kept["judgements"][0]["source"]) == (
        "pear harvest",
        "pears.md",
        "docs",
    )


def test_topics_of_trec_may_come_without_judgements(manager, workspace):
    answer = send_files(manager, workspace, file="1\tapple harvest\n", format="trec")
    assert (answer.status_code, Judgement.objects.count()) == (201, 0)


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"file": "topics: ["}, "invalid_judged_set", None),
        ({"file": b"\xff\xfe"}, "invalid_request", "file"),
        ({"file": GOLDEN, "qrels": "q 0 d 1"}, "invalid_request", "qrels"),
        ({"file": "1\ta\n", "qrels": "1 0 d", "format": "trec"}, "invalid_judged_set", None),
        ({"file": '{"_id": "1", "text": "a"}', "format": "beir"}, "invalid_request", "qrels"),
        ({"file": GOLDEN, "format": "csv"}, "invalid_request", "format"),
        ({"format": "golden"}, "invalid_request", "file"),
        ({"file": GOLDEN, "sett": "x"}, "unknown_field", "sett"),
        ({"file": GOLDEN, "set": "s" * (MAX_SET_CHARS + 1)}, "invalid_request", "set"),
    ],
)
def test_a_file_that_can_not_be_taken_is_refused(manager, workspace, fields, code, field):
    answer = send_files(manager, workspace, **fields)
    assert (answer.status_code, refused(answer, code, field)) == (400, True), answer.content
    assert not Topic.objects.exists()


@pytest.mark.parametrize(
    ("topic", "code", "field"),
    [
        ({}, "invalid_request", "topics[0].topic_id"),
        ({"topic_id": "a"}, "invalid_request", "topics[0].query"),
        ({"topic_id": "a", "query": "b" * (MAX_TOPIC_CHARS + 1)}, "invalid_request", "topics[0].query"),
        ({"topic_id": "a" * (MAX_TOPIC_ID_CHARS + 1), "query": "b"}, "invalid_request", "topics[0].topic_id"),
        ({"topic_id": "a", "query": " "}, "invalid_judged_set", None),
        ({"topic_id": "a", "query": ""}, "invalid_request", "topics[0].query"),
        ({**APPLES, "filters": {"colour": ["red"]}}, "invalid_judged_set", None),
        ({**APPLES, "filters": ["red"]}, "invalid_judged_set", None),
        ({**APPLES, "is_unanswerable": True}, "invalid_judged_set", None),
        ({**APPLES, "is_unanswerable": "maybe"}, "invalid_request", "topics[0].is_unanswerable"),
        ({**APPLES, "grade": 1}, "unknown_field", "topics[0].grade"),
        ({**APPLES, "judgements": [{}]}, "invalid_request", "topics[0].judgements[0].path"),
        ({**APPLES, "judgements": [{"path": "a#L1"}]}, "invalid_judged_set", None),
        ({**APPLES, "judgements": [{"path": "a", "fragment": "L"}]}, "invalid_judged_set", None),
        ({**APPLES, "judgements": [{"path": "a", "source": "gone"}]}, "unknown_source", None),
        (
            {**APPLES, "judgements": [{"path": "a", "grade": 1_001}]},
            "invalid_request",
            "topics[0].judgements[0].grade",
        ),
        ({**APPLES, "judgements": [{"path": "a"}, {"path": "a"}]}, "invalid_judged_set", None),
    ],
)
def test_a_topic_that_can_not_be_is_refused(manager, workspace, topic, code, field):
    answer = post_topics(manager, workspace, topic)
    assert answer.status_code in (400, 422)
    assert refused(answer, code, field), answer.content
    assert not Topic.objects.exists()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "topics"),
        ({"topics": []}, "topics"),
        ({"topics": [APPLES] * 1_001}, "topics"),
        ({"topics": [APPLES], "set": ""}, "set"),
        ({"topics": "apples"}, "topics"),
    ],
)
def test_a_body_that_holds_no_topics_is_refused(manager, workspace, body, field):
    answer = manager.post(address(workspace, "/eval/topics"), body, format="json")
    assert (answer.status_code, refused(answer, "invalid_request", field)) == (400, True)


def test_a_topic_that_is_there_twice_is_refused(manager, workspace):
    assert refused(post_topics(manager, workspace, APPLES, APPLES), "invalid_judged_set")


@pytest.mark.parametrize(
    "tail",
    [
        "/eval/topics?sets=a",
        "/eval/topics?limit=0",
        "/eval/topics?cursor=x",
        "/eval/topics/sets?set=a",
        "/eval/topics/export?format=csv",
        "/eval/topics/export?set=",
    ],
)
def test_a_wrong_parameter_is_refused(manager, workspace, tail):
    assert manager.get(address(workspace, tail)).status_code == 400


def test_the_export_of_a_set_that_is_not_there_is_missing(manager, workspace):
    assert manager.get(address(workspace, "/eval/topics/export?set=none")).status_code == 404


def test_a_form_that_is_too_large_is_refused_before_it_is_read(manager, workspace):
    answer = manager.post(
        address(workspace, "/eval/topics"),
        b"--b--",
        content_type="multipart/form-data; boundary=b",
        CONTENT_LENGTH="20000001",
    )
    assert answer.status_code == 413


def test_the_same_request_is_done_once(manager, workspace):
    path, body = address(workspace, "/eval/topics"), {"topics": [APPLES]}
    first, second = (
        manager.post(path, body, format="json", headers={"Idempotency-Key": "once"}) for _ in range(2)
    )
    assert first.json() == second.json() == {"set": "golden", "added": 1, "changed": 0, "unchanged": 0}
    assert second.headers["Idempotency-Replayed"] == "true"


@outsiders
def test_other_scopes_may_not(workspace, scopes):
    write_fruit(workspace)
    client = token_client(workspace, *scopes)
    assert post_topics(client, workspace, APPLES).status_code == 403
    for tail in ("/eval/topics", "/eval/topics/sets", "/eval/topics/export"):
        assert client.get(address(workspace, tail)).status_code == 403
    assert client.delete(address(workspace, "/eval/topics?set=golden")).status_code == 403
    assert client.post(address(workspace, "/eval/topics/from-feedback"), {}, format="json").status_code == 403


@pytest.mark.parametrize(
    ("role", "status"), [(Role.VIEWER, 403), (Role.EDITOR, 403), (Role.ADMIN, 201), (Role.OWNER, 201)]
)
def test_roles_below_admin_may_not(workspace, role, status):
    write_fruit(workspace)
    assert post_topics(member_client(workspace, role), workspace, APPLES).status_code == status


def test_another_workspaces_topics_are_missing(manager, workspace, other_workspace):
    write(other_workspace, "apples.md", "apples")
    theirs = manager_of(other_workspace)
    post_topics(theirs, other_workspace, APPLES)
    pk = Topic.objects.get().pk
    assert manager.get(address(workspace, f"/eval/topics/{pk}")).status_code == 404
    assert manager.delete(address(workspace, f"/eval/topics/{pk}")).status_code == 404
    assert manager.get(address(other_workspace, "/eval/topics")).status_code == 404
    assert Topic.objects.exists()


class TestWhatIsHidden:
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

    def test_it_is_not_listed_counted_given_exported_or_deleted(self, inside, workspace):
        outside = manager_of(workspace)
        pk = Topic.objects.get(topic_id="secret").pk
        assert (listed(outside, workspace), listed(inside, workspace)) == (["apples"], ["apples", "secret"])
        sets = outside.get(address(workspace, "/eval/topics/sets")).json()["results"]
        assert sets[0]["topics"] == 1
        assert outside.get(address(workspace, f"/eval/topics/{pk}")).status_code == 404
        assert outside.delete(address(workspace, f"/eval/topics/{pk}")).status_code == 404
        exported = outside.get(address(workspace, "/eval/topics/export")).content
        assert b"secret" not in exported
        assert outside.delete(address(workspace, "/eval/topics?set=golden")).json()["deleted"] == 1
        assert listed(inside, workspace) == ["secret"]

    def test_naming_the_source_is_like_naming_none(self, inside, workspace):
        outside = manager_of(workspace)
        missing = {**self.SECRET, "judgements": [{"path": "secret.md", "source": "cloded"}]}
        hidden, absent = (
            post_topics(outside, workspace, {**each, "topic_id": "mine"}) for each in (self.SECRET, missing)
        )
        assert hidden.status_code == absent.status_code
        assert hidden.content.replace(b"closed", b"cloded") == absent.content

    def test_an_admin_sees_it_all_the_same(self, inside, workspace):
        assert listed(member_client(workspace, Role.ADMIN), workspace) == ["apples", "secret"]


def test_json_is_read_strictly(manager, workspace):
    body = json.dumps({"topics": [APPLES]})[:-1] + ', "topics": []}'
    answer = manager.post(address(workspace, "/eval/topics"), body, content_type="application/json")
    assert refused(answer, "invalid_json")
