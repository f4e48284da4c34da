"""Stored topics and judgements, and their visibility."""

import pytest

from kebab.errors import Conflict, NotFound
from kebab.identity.models import AuditEvent, Group
from search.corpus import delete_documents
from search.errors import UnknownSource
from search.evaluation import topic_sets
from search.evaluation.formats.golden import parse_golden, write_golden
from search.evaluation.judged import Qrel, TopicCollection
from search.evaluation.topic_sets import (
    SetSummary,
    TopicChanges,
    delete_topic,
    delete_topics,
    find_topic,
    get_topic,
    judged_topics,
    list_sets,
    store_topics,
    visible_topics,
)
from search.models import Document, Judgement, Source, Topic, TopicOrigin
from search.retrieval.errors import InvalidJudgedSet
from tests.integration.search.evaluation.callers import operator_of, token_of, topic
from tests.support.corpus import make_workspace, restrict, write

LINES = Qrel(path="apples.md", source="docs", fragment="L1-L9", grade=2)


@pytest.fixture
def place(db):
    """Return a workspace with an open source and one that the group `legal` reads."""
    workspace = make_workspace()
    write(workspace, "apples.md", "apples")
    write(workspace, "secret.md", "secrets", source="vault")
    legal = Group.objects.create(workspace=workspace, name="legal")
    restrict(Source.objects.get(workspace=workspace, key="vault"), legal)
    return workspace, legal


@pytest.fixture
def access(place):
    return operator_of(place[0])


def ids(access, topic_set=None):
    return sorted(visible_topics(access, topic_set).values_list("topic_id", flat=True))


def test_stored_topics_are_read_back(access):
    asked = [
        topic("a", "apple", LINES, "apples.md", filters={"lang": ["en"]}),
        topic("b", "nothing", is_unanswerable=True),
        topic("c", "unjudged"),
    ]
    assert store_topics(access, asked) == TopicChanges(added=3)
    found = judged_topics(access)
    assert [each.topic_id for each in found] == ["a", "b", "c"]
    assert set(found[0].qrels) == set(asked[0].qrels)
    assert (found[0].text, found[0].filters) == ("apple", {"lang": ["en"]})
    assert found[1:] == asked[1:]


def test_storing_topics_again_updates_only_changed_ones(access):
    store_topics(access, [topic("a", "apple", LINES), topic("b", "pear", "apples.md")])
    pks = dict(Topic.objects.values_list("topic_id", "pk"))
    again = [topic("a", "apple", LINES), topic("b", "pears", Qrel(path="apples.md", source="docs", grade=0))]
    assert store_topics(access, [*again, topic("c", "new")]) == TopicChanges(added=1, changed=1, unchanged=1)
    assert Topic.objects.get(topic_id="b").pk == pks["b"]
    found = {each.topic_id: each for each in judged_topics(access)}
    assert found["b"].text == "pears"
    assert [each.grade for each in found["b"].qrels] == [0]
    assert store_topics(access, found.values()) == TopicChanges(unchanged=3)


def test_an_export_imported_elsewhere_is_the_same_export(access):
    store_topics(access, [topic("a", "apple", LINES), topic("n", "none", is_unanswerable=True)])
    exported = write_golden(TopicCollection(topics=tuple(judged_topics(access)), topic_set="golden"))
    twin = make_workspace()
    write(twin, "apples.md", "apples")
    store_topics(operator_of(twin), parse_golden(exported).topics)
    again = judged_topics(operator_of(twin))
    assert write_golden(TopicCollection(topics=tuple(again), topic_set="golden")) == exported


def test_topic_sets_are_listed_and_deleted_separately(access):
    store_topics(access, [topic("a", "apple", LINES)])
    store_topics(access, [topic("a", "other"), topic("n", "none", is_unanswerable=True)], topic_set="nightly")
    assert list_sets(access) == [
        SetSummary(topic_set="golden", topics=1, judged=1, unanswerable=0),
        SetSummary(topic_set="nightly", topics=2, judged=0, unanswerable=1),
    ]
    assert delete_topics(access, "nightly") == 2
    assert ids(access) == ["a"]
    with pytest.raises(NotFound):
        delete_topics(access, "nightly")


def test_a_topic_is_found_and_deleted_by_its_id(access):
    store_topics(access, [topic("a", "apple", LINES), topic("b", "pear")], origin=TopicOrigin.GOLDEN)
    row = find_topic(access, "golden", "a")
    assert (row.origin, row.created_by) == ("golden", access.actor)
    assert get_topic(access, row.pk) == row
    delete_topic(access, row.pk)
    assert not Judgement.objects.exists()
    for find in (
        lambda: get_topic(access, row.pk),
        lambda: find_topic(access, "golden", "a"),
        lambda: delete_topic(access, row.pk),
    ):
        with pytest.raises(NotFound):
            find()


def test_changes_to_topics_are_audited(access):
    store_topics(access, [topic("a", "apple"), topic("b", "pear")])
    store_topics(access, [topic("a", "apple")])  # changes nothing
    delete_topic(access, find_topic(access, "golden", "a").pk)
    delete_topics(access, "golden")
    events = AuditEvent.objects.filter(action__startswith="topics.").order_by("at")
    assert [(each.action, each.subject, each.detail) for each in events] == [
        ("topics.kept", "golden", {"added": 2, "changed": 0}),
        ("topics.deleted", "golden", {"topic": "a", "topics": 1}),
        ("topics.deleted", "golden", {"topics": 1}),
    ]


def test_judgement_without_a_source_uses_the_only_readable_source_with_the_document(subtests, place, access):
    for key in ("docs", "vault"):
        write(place[0], "both.md", "both", source=key)
    sources = {"apples.md": "docs", "secret.md": "vault", "nowhere.md": None, "both.md": None}
    for path, source in sources.items():
        with subtests.test(path=path):
            store_topics(access, [topic("a", "apple", Qrel(path=path))])
            (found,) = judged_topics(access)[0].qrels
            assert found.source == source
    store_topics(token_of(place[0]), [topic("b", "apple", Qrel(path="secret.md"))])
    (found,) = judged_topics(token_of(place[0]))[0].qrels
    assert found.source == "docs"


def test_paths_are_normalised_and_judged_once(access):
    store_topics(access, [topic("a", "apple", Qrel(path="u\u0308bung.md", source="docs"))])
    assert judged_topics(access)[0].qrels[0].path == "übung.md"
    with pytest.raises(InvalidJudgedSet, match=r"apples\.md"):
        store_topics(access, [topic("b", "apple", Qrel(path="/apples.md", source="docs"))])
    twice = topic("a", "apple", Qrel(path="apples.md"), Qrel(path="apples.md", source="docs", grade=2))
    with pytest.raises(InvalidJudgedSet, match=r"apples\.md"):
        store_topics(access, [twice])


def test_a_source_that_is_hidden_is_refused_like_one_that_is_not_there(place):
    messages = []
    for key in ("vault", "gone"):
        with pytest.raises(UnknownSource) as error:
            store_topics(token_of(place[0]), [topic("a", "x", Qrel(path="secret.md", source=key))])
        messages.append(str(error.value).replace(key, "KEY"))
    assert messages[0] == messages[1]
    assert not Topic.objects.exists()


def test_restricted_reader_sees_only_topics_of_readable_sources(place, access):
    workspace, legal = place
    store_topics(
        access,
        [
            topic("open", "apple", "apples.md"),
            topic("hidden", "secret", Qrel(path="secret.md", source="vault")),
            topic("both", "x", "apples.md", Qrel(path="secret.md", source="vault", grade=0)),
            topic("anywhere", "x", Qrel(path="nowhere.md")),
            topic("unjudged", "what does the director earn"),
            topic("filtered", "x", "apples.md", filters={"source": ["vault"]}),
        ],
    )
    outsider, insider = token_of(workspace), token_of(workspace, legal)
    assert ids(outsider) == ["open"]
    assert [each.topic_id for each in judged_topics(outsider)] == ["open"]
    assert list_sets(outsider) == [SetSummary(topic_set="golden", topics=1, judged=1, unanswerable=0)]
    assert ids(insider) == ids(access) and len(ids(access)) == 6
    with pytest.raises(NotFound):
        get_topic(outsider, Topic.objects.get(topic_id="hidden").pk)


def test_hidden_topics_keep_their_ids(place, access):
    store_topics(access, [topic("a", "secret", Qrel(path="secret.md", source="vault"))])
    with pytest.raises(Conflict, match="'a' is taken"):
        store_topics(token_of(place[0]), [topic("a", "mine")])
    assert Topic.objects.get().text == "secret"
    maker, other = token_of(place[0]), token_of(place[0])
    store_topics(maker, [topic("mine", "apple")])
    assert (ids(maker), ids(other)) == (["mine"], [])


def test_deleting_a_set_keeps_topics_hidden_from_the_caller(place, access):
    store_topics(
        access, [topic("a", "apple", "apples.md"), topic("h", "x", Qrel(path="secret.md", source="vault"))]
    )
    assert delete_topics(token_of(place[0]), "golden") == 1
    assert ids(access) == ["h"]


def test_judgements_outlive_their_document_and_go_with_their_source(place, access):
    store_topics(
        access, [topic("a", "apple", LINES), topic("h", "x", Qrel(path="secret.md", source="vault"))]
    )
    workspace = place[0]
    delete_documents(workspace, [Document.objects.get(path="apples.md").doc_id])
    assert not Document.objects.filter(path="apples.md").exists()
    assert judged_topics(access)[0].qrels == (LINES,)
    write(workspace, "apples.md", "apples again")
    assert judged_topics(access)[0].qrels == (LINES,)
    Source.objects.get(workspace=workspace, key="vault").delete()
    assert judged_topics(access)[1].qrels == ()
    assert not judged_topics(access)[1].is_unanswerable
    assert ids(token_of(workspace)) == ["a", "h"]


def test_concurrently_added_topic_is_stored_once(access, monkeypatch):
    """Store a topic between another writer's read and its insert."""
    real = topic_sets._add_rows

    def after_the_other(*arguments):
        monkeypatch.setattr(topic_sets, "_add_rows", real)
        store_topics(access, [topic("a", "theirs", LINES)])
        return real(*arguments)

    monkeypatch.setattr(topic_sets, "_add_rows", after_the_other)
    store_topics(access, [topic("a", "mine", "apples.md")])
    (found,) = judged_topics(access)
    assert (found.text, [each.fragment for each in found.qrels]) == ("mine", [""])


def test_topic_set_over_its_limit_is_refused(access, monkeypatch):
    monkeypatch.setattr(topic_sets, "MAX_TOPICS", 2)
    store_topics(access, [topic("a", "x"), topic("b", "x")])
    with pytest.raises(InvalidJudgedSet, match=r"3 topics.* 2 "):
        store_topics(access, [topic("c", "x")])
    assert ids(access) == ["a", "b"]
