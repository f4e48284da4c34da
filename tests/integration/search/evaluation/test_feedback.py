"""Feedback of callers on hits becomes topics."""

import pytest

from kebab.errors import NotFound
from kebab.identity.models import Group
from search.corpus import delete_documents
from search.evaluation.feedback import (
    own_feedback,
    record_feedback,
    store_topics_from_feedback,
    visible_feedback,
)
from search.evaluation.judged import Qrel
from search.evaluation.topic_sets import TopicChanges, judged_topics
from search.models import Document, Feedback, Source
from search.retrieval.errors import InvalidCitation, InvalidQuery
from tests.integration.search.evaluation.callers import operator_of, token_of
from tests.support.corpus import make_workspace, restrict, write


@pytest.fixture
def place(db):
    workspace = make_workspace()
    for path in ("apples.md", "pears.md"):
        write(workspace, path, path)
    write(workspace, "apples.md", "apples", version="v2")
    write(workspace, "secret.md", "secrets", source="vault")
    legal = Group.objects.create(workspace=workspace, name="legal")
    restrict(Source.objects.get(workspace=workspace, key="vault"), legal)
    return workspace, legal


def say(access, query="apple harvest", citation="apples.md#L1-L9", *, relevant=True, source="docs", **fields):
    return record_feedback(
        access, query=query, citation=citation, source=source, is_relevant=relevant, **fields
    )


def test_feedback_names_its_giver_and_place(place):
    access = token_of(place[0])
    given = say(access)
    assert (given.query, given.path, given.fragment, given.is_relevant) == (
        "apple harvest", "apples.md", "L1-L9", True,
    )  # fmt: skip
    assert (given.actor, given.creator, given.source.key) == (access.actor, access.identity, "docs")
    assert say(token_of(*place), citation="secret.md", source="vault").source.key == "vault"
    write(place[0], "C# guide.md", "generics")
    assert say(access, citation="C%23 guide.md#L1").path == "C# guide.md"
    assert ("docs", "", "C%23 guide.md#L1") in own_feedback(access, "apple harvest")


def test_last_word_on_a_document_counts(place):
    access = token_of(place[0])
    first = say(access)
    for query in ("apple harvest", "  Apple\u00a0 HARVEST "):
        again = say(access, query, "apples.md", relevant=False)
        assert (again.pk, again.is_relevant, again.fragment) == (first.pk, False, "")
    assert again.created_at > first.created_at
    say(access, "another query")
    say(access, citation="pears.md")
    say(access, citation="apples.md", version="v2")
    say(token_of(place[0]))
    assert Feedback.objects.count() == 5


def test_unreadable_place_or_query_is_refused(subtests, place):
    cases = [
        ("secret.md", "vault", ""), ("gone.md", "docs", ""), ("apples.md", "gone", ""),
        ("apples.md", "docs", "v9"), ("", "docs", ""), ("a\x00", "docs", ""),
        ("apples.md", "docs\ud800", ""),
    ]  # fmt: skip
    for citation, source, version in cases:
        with subtests.test(citation=citation), pytest.raises(NotFound):
            say(token_of(place[0]), citation=citation, source=source, version=version)
    for query in ("", " \n", "q\x00", "\ud800", "q" * 20_001):
        with subtests.test(query=query), pytest.raises(InvalidQuery):
            say(token_of(place[0]), query)
    with pytest.raises(InvalidCitation):
        say(token_of(place[0]), citation="apples.md#L0")
    assert not Feedback.objects.exists()


def test_feedback_is_visible_to_reviewers_and_to_its_author_with_access(place):
    workspace, legal = place
    insider, outsider = token_of(workspace, legal), token_of(workspace)
    say(insider, citation="secret.md", source="vault")
    say(outsider)
    assert visible_feedback(operator_of(workspace)).count() == 2
    assert visible_feedback(insider).count() == 2  # nothing is hidden from them
    assert [each.path for each in visible_feedback(outsider)] == ["apples.md"]
    assert not visible_feedback(token_of(workspace)).exists()
    restrict(Source.objects.get(workspace=workspace, key="docs"))
    assert not visible_feedback(outsider).exists()


def test_a_topic_is_what_most_found_relevant(place):
    workspace, _ = place
    first, second, third = (token_of(workspace) for _ in range(3))
    for access in (first, second):
        say(access, citation="apples.md#L1-L9")
    say(third, relevant=False)
    say(first, citation="pears.md", relevant=False)
    say(second, "undecided")
    say(third, "undecided", relevant=False)
    say(first, "only wrong ones", relevant=False)
    access = operator_of(workspace)
    assert store_topics_from_feedback(access) == TopicChanges(added=1)
    (found,) = judged_topics(access, "feedback")
    assert found.text == "apple harvest"
    assert set(found.qrels) == {
        Qrel(path="apples.md", source="docs", fragment="L1-L9"),
        Qrel(path="pears.md", source="docs", grade=0),
    }
    assert store_topics_from_feedback(access) == TopicChanges(unchanged=1)


def test_differing_citations_judge_the_whole_document(place):
    for citation in ("apples.md#L1-L9", "apples.md#L11-L19"):
        say(token_of(place[0]), citation=citation)
    store_topics_from_feedback(operator_of(place[0]))
    (found,) = judged_topics(operator_of(place[0]), "feedback")
    assert found.qrels == (Qrel(path="apples.md", source="docs"),)


def test_topic_is_deleted_when_no_feedback_is_positive(place):
    teller, access = token_of(place[0]), operator_of(place[0])
    say(teller)
    store_topics_from_feedback(access)
    say(teller, relevant=False)
    assert store_topics_from_feedback(access) == TopicChanges()
    assert judged_topics(access, "feedback") == []


def test_topics_are_created_only_from_feedback_the_caller_may_read(place):
    workspace, legal = place
    say(token_of(workspace, legal), citation="secret.md", source="vault")
    outsider = token_of(workspace)
    assert store_topics_from_feedback(outsider) == TopicChanges()
    say(outsider)
    assert store_topics_from_feedback(outsider) == TopicChanges(added=1)
    assert [each.qrels for each in judged_topics(outsider, "feedback")] == [
        (Qrel(path="apples.md", source="docs", fragment="L1-L9"),)
    ]


def test_feedback_outlives_its_document_and_goes_with_its_source(place):
    workspace, _ = place
    say(token_of(workspace))
    document = Document.objects.get(workspace=workspace, path="apples.md", version__tag="")
    delete_documents(workspace, [document.doc_id])
    assert Feedback.objects.exists()
    Source.objects.get(workspace=workspace, key="docs").delete()
    assert not Feedback.objects.exists()
