"""The feedback page: what people said of hits becomes judgements with one click."""

import html
import re

import pytest

from kebab.people.access import Caller, access_for
from kebab.people.models import Role
from search.evaluation.feedback import give_feedback, pending_feedback, topics_from_feedback
from search.models import Judgement, Topic
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


def say(workspace, query, citation, *, is_relevant=True):
    access = access_for(Caller(user=make_member(workspace)), workspace.slug)
    return give_feedback(access, query=query, source="docs", citation=citation, is_relevant=is_relevant)


def at(workspace):
    return f"/w/{workspace.slug}/evaluation/feedback"


def text_of(response):
    assert response.status_code == 200, response.content
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode())))


def test_what_was_said_is_listed_by_query(admin, orchard):
    say(orchard, "<b>apples</b>", "apples.md#L1")
    say(orchard, "<b>apples</b>", "pears.md", is_relevant=False)
    found = admin.get(at(orchard))

    assert "&lt;b&gt;apples&lt;/b&gt;" in found.content.decode()
    assert re.search(r"apples\.md#L1 1 \w+ it right", text_of(found))
    assert re.search(r"pears\.md 1 \w+ it wrong", text_of(found))


def test_one_click_judges_one_query_and_another_all(admin, orchard):
    said = say(orchard, "which apples", "apples.md")
    say(orchard, "which pears", "pears.md")
    assert admin.post(at(orchard), {"query": "x"}).status_code == 404
    answer = admin.post(at(orchard), {"query": str(said.query_key)})

    assert (answer.status_code, answer["Location"]) == (302, at(orchard))
    assert (Topic.objects.get().text, Topic.objects.get().topic_set) == ("which apples", "feedback")
    assert Judgement.objects.get().path == "apples.md"
    listed = text_of(admin.get(at(orchard)))
    assert "which apples" not in listed and "which pears" in listed
    say(orchard, "which plums", "apples.md")
    admin.post(at(orchard))
    assert Topic.objects.count() == 3


def test_what_is_said_later_comes_back_to_the_list(admin, orchard):
    say(orchard, "which apples", "apples.md")
    admin.post(at(orchard))
    say(orchard, "Which  apples", "pears.md")
    assert "pears.md 1 " in text_of(admin.get(at(orchard)))
    admin.post(at(orchard))

    assert Judgement.objects.count() == 2
    assert "pears.md" not in text_of(admin.get(at(orchard)))


def test_where_opinions_differ_there_is_nothing_to_judge(admin, orchard):
    say(orchard, "which apples", "apples.md")
    say(orchard, "which apples", "apples.md", is_relevant=False)

    assert 'name="query"' not in admin.get(at(orchard)).content.decode()
    admin.post(at(orchard))
    assert not Topic.objects.exists()


def test_what_can_be_judged_comes_first(admin, orchard):
    say(orchard, "which apples", "apples.md")
    say(orchard, "which plums", "apples.md", is_relevant=False)
    listed = text_of(admin.get(at(orchard)))

    assert listed.index("which apples") < listed.index("which plums")


def test_what_was_said_long_ago_counts_as_much(orchard):
    for path in ("apples.md", "pears.md"):
        say(orchard, "which fruit", path)
    access = access_for(Caller(user=make_member(orchard, Role.ADMIN)), orchard.slug)
    topics_from_feedback(access)

    assert pending_feedback(access, newest=1) == []
