"""The feedback page: one click turns feedback into a judgement."""

import re

import pytest

from kebab.identity.caller import Caller, caller_access
from kebab.identity.models import Role
from search.evaluation.feedback import pending_feedback, record_feedback, store_topics_from_feedback
from search.models import Judgement, Topic
from tests.pages.page_text import text_of
from tests.support.actors import make_member, make_workspace, member_client
from tests.support.corpus import write


@pytest.fixture
def orchard(db):
    workspace = make_workspace()
    for name in ("apples", "pears"):
        write(workspace, f"{name}.md", f"the {name} harvest")
    return workspace


@pytest.fixture
def admin(orchard):
    return member_client(orchard, Role.ADMIN)


@pytest.fixture
def at(orchard):
    return f"/w/{orchard.slug}/evaluation/feedback"


def say(workspace, query, citation, *, is_relevant=True):
    access = caller_access(Caller(user=make_member(workspace)), workspace.slug)
    return record_feedback(access, query=query, source="docs", citation=citation, is_relevant=is_relevant)


def test_feedback_is_listed_by_query(admin, orchard, at):
    say(orchard, "<b>apples</b>", "apples.md#L1")
    say(orchard, "<b>apples</b>", "pears.md", is_relevant=False)
    found = admin.get(at)

    assert "&lt;b&gt;apples&lt;/b&gt;" in found.content.decode()
    assert re.search(r"apples\.md#L1 1 for it", text_of(found))
    assert re.search(r"pears\.md 1 against it", text_of(found))


def test_feedback_is_accepted_per_query_or_all_at_once(admin, orchard, at):
    feedback = say(orchard, "which apples", "apples.md")
    say(orchard, "which pears", "pears.md")
    assert admin.post(at, {"query": "x"}).status_code == 404
    answer = admin.post(at, {"query": str(feedback.query_key)})

    assert (answer.status_code, answer["Location"]) == (302, at)
    assert (Topic.objects.get().text, Topic.objects.get().topic_set) == ("which apples", "feedback")
    assert Judgement.objects.get().path == "apples.md"
    listed = text_of(admin.get(at))
    assert "which apples" not in listed and "which pears" in listed
    say(orchard, "Which  apples", "pears.md")  # comes back to the list
    assert "which apples" in text_of(admin.get(at)).lower()
    admin.post(at)
    assert (Topic.objects.count(), Judgement.objects.count()) == (2, 3)
    assert "pears.md" not in text_of(admin.get(at))


def test_query_with_conflicting_feedback_is_listed_last_and_not_accepted(admin, orchard, at):
    say(orchard, "which apples", "apples.md")
    say(orchard, "which apples", "apples.md", is_relevant=False)
    assert 'name="query"' not in admin.get(at).content.decode()
    say(orchard, "which plums", "apples.md")
    listed = text_of(admin.get(at))
    assert listed.index("which plums") < listed.index("which apples")
    admin.post(at)
    assert Topic.objects.get().text == "which plums"


def test_accepted_feedback_beyond_the_newest_is_not_pending(orchard):
    for path in ("apples.md", "pears.md"):
        say(orchard, "which fruit", path)
    access = caller_access(Caller(user=make_member(orchard, Role.ADMIN)), orchard.slug)
    store_topics_from_feedback(access)

    assert pending_feedback(access, newest=1) == []
