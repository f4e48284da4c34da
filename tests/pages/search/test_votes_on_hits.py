"""Thumbs on a hit: whether it answers the query."""

import re

import pytest
from django.contrib.messages import get_messages

from kebab.people.models import Group
from search.models import Feedback, Source
from search.readers import restrict
from tests.pages.search.shelf import make_member

VOTE = "/w/handbook/search/vote"


def said(**changed):
    fields = {
        "query": "restart workers",
        "source": "handbook",
        "version": "",
        "citation": "ops/deploy.md#L3",
        "is_relevant": "yes",
        "asked": "mode=lexical&k=10&lang=en",
        "rank": "1",
    }
    return fields | changed


def kept(workspace):
    rows = Feedback.objects.in_workspace(workspace)
    return [(row.query, row.path, row.fragment, row.is_relevant, row.actor) for row in rows]


def test_what_is_said_of_a_hit_is_kept_and_the_hits_are_shown_again(visitor, workspace, guide):
    response = visitor.post(VOTE, said())

    assert response.status_code == 302
    assert response.url == "/w/handbook/search?q=restart+workers&mode=lexical&k=10&lang=en#hit-1"
    assert kept(workspace) == [("restart workers", "ops/deploy.md", "L3", True, "ada@example.org")]
    told = [str(each) for each in get_messages(response.wsgi_request)]
    assert told == ["Noted: ops/deploy.md#L3 answers “restart workers”."]


def test_a_vote_on_a_further_page_leads_back_to_it(visitor, workspace, guide):
    response = visitor.post(VOTE, said(rank="11", cursor="abc:10"))

    assert response.url == (
        "/w/handbook/search/more?cursor=abc%3A10&q=restart+workers&mode=lexical&k=10&lang=en#hit-11"
    )


def test_who_thinks_better_of_it_replaces_what_was_said(visitor, workspace, guide):
    visitor.post(VOTE, said())
    visitor.post(VOTE, said(is_relevant="no"))

    assert [row[3] for row in kept(workspace)] == [False]


def test_what_one_said_before_is_shown_with_the_hits_and_to_nobody_else(client, visitor, workspace, guide):
    def pressed():
        page = client.get("/w/handbook/search", {"q": "Restart  workers", "mode": "lexical"}).content.decode()
        return re.findall(r'aria-label="Hit 1 ([^"]+) the query" aria-pressed="true"', page)

    assert pressed() == []
    visitor.post(VOTE, said())
    assert pressed() == ["answers"]
    visitor.post(VOTE, said(is_relevant="no"))
    assert pressed() == ["doesn’t answer"]
    client.force_login(make_member(workspace, "bob@example.org"))
    assert pressed() == []


def test_the_page_offers_what_can_be_said_of_each_hit(visitor, workspace, guide):
    page = visitor.get("/w/handbook/search", {"q": "restart", "mode": "lexical"}).content.decode()

    assert page.count('class="vote"') == 1
    for field in (
        'name="query" value="restart"',
        'name="source" value="handbook"',
        'name="citation" value="ops/deploy.md#L3"',
        'name="asked" value="mode=lexical&amp;k=10"',
    ):
        assert f'<input type="hidden" {field}>' in page


def test_a_script_is_answered_with_the_thumbs_alone(visitor, workspace, guide):
    response = visitor.post(VOTE, said(is_relevant="no"), headers={"hx-request": "true"})
    page = response.content.decode()

    assert "<html" not in page
    assert 'aria-label="Hit 1 doesn’t answer the query" aria-pressed="true"' in page
    assert 'aria-label="Hit 1 answers the query" aria-pressed="false"' in page
    assert "Noted: hit 1 doesn’t answer the query." in page
    assert len(kept(workspace)) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"is_relevant": "perhaps"},
        {"query": ""},
        {"citation": ""},
        {"rank": "x"},
    ],
)
def test_what_cannot_be_kept_is_refused(visitor, workspace, guide, changed):
    assert visitor.post(VOTE, said(**changed)).status_code == 400
    assert kept(workspace) == []


def test_what_may_not_be_read_is_like_what_is_not_there(visitor, workspace, guide):
    missing = visitor.post(VOTE, said(citation="ops/none.md"))
    source = Source.objects.get(workspace=workspace)
    restrict(source, [Group.objects.create(workspace=workspace, name="few").pk])
    hidden = visitor.post(VOTE, said())

    assert missing.status_code == hidden.status_code == 404
    assert kept(workspace) == []


def test_nobody_is_sent_to_another_site(visitor, workspace, guide):
    response = visitor.post(VOTE, said(asked="//evil.example/?q=x", rank="1"))

    assert response.url == "/w/handbook/search?q=restart+workers&mode=hybrid&k=10#hit-1"


def test_who_is_no_member_can_say_nothing(client, workspace, guide, django_user_model):
    client.force_login(django_user_model.objects.create_user("eve@example.org"))

    assert client.post(VOTE, said()).status_code == 404
    assert kept(workspace) == []
