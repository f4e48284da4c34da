"""Votes on whether a hit answers the query."""

import re
from urllib.parse import urlencode

from kebab.identity.models import Group
from search.access.restrictions import restrict
from search.models import Feedback, Source
from tests.pages.search.shelf import make_member

VOTE = "/w/handbook/search/vote"


def vote_fields(**changed):
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


def stored_votes(workspace):
    rows = Feedback.objects.in_workspace(workspace)
    return [(row.query, row.path, row.fragment, row.is_relevant, row.actor) for row in rows]


def test_vote_is_stored_and_the_hits_are_shown_again(visitor, workspace, guide):
    response = visitor.post(VOTE, vote_fields())

    assert response.status_code == 302
    assert response.url == "/w/handbook/search?q=restart+workers&mode=lexical&k=10&lang=en#result-1"
    assert stored_votes(workspace) == [("restart workers", "ops/deploy.md", "L3", True, "ada@example.org")]
    further = visitor.post(VOTE, vote_fields(rank="11", cursor="abc:10", is_relevant="no"))
    assert further.url == (
        "/w/handbook/search/more?cursor=abc%3A10&q=restart+workers&mode=lexical&k=10&lang=en#result-11"
    )
    assert [row[3] for row in stored_votes(workspace)] == [False]
    elsewhere = visitor.post(VOTE, vote_fields(asked="//evil.example/?q=x", rank="1"))
    assert elsewhere.url == "/w/handbook/search?q=restart+workers&mode=hybrid&k=10#result-1"


def test_earlier_vote_is_shown_only_to_its_author(client, visitor, workspace, guide):
    def results_page():
        page = client.get("/w/handbook/search", {"q": "Restart  workers", "mode": "lexical"}).content.decode()
        assert page.count("source=handbook&amp;citation=ops%2Fdeploy.md%23L3") == 2
        return page

    def thumbs():
        return [
            found == "true" for found in re.findall(r'id="vote-[^>]+aria-pressed="(\w+)"', results_page())
        ]

    assert thumbs() == [False, False]
    visitor.post(VOTE, vote_fields())
    assert thumbs() == [True, False]
    visitor.post(VOTE, vote_fields(is_relevant="no"))
    assert thumbs() == [False, True]
    client.force_login(make_member(workspace, "bob@example.org"))
    assert thumbs() == [False, False]


def test_script_gets_no_page_and_the_address_of_the_button_names_the_hit(visitor, workspace, guide):
    fields = vote_fields(is_relevant="no")
    named = {name: fields.pop(name) for name in ("source", "version", "citation", "rank", "is_relevant")}
    response = visitor.post(f"{VOTE}?{urlencode(named)}", fields, headers={"hx-request": "true"})

    assert (response.status_code, response.content) == (204, b"")
    assert [row[3] for row in stored_votes(workspace)] == [False]


def test_invalid_vote_is_refused(visitor, workspace, guide):
    for changed in ({"is_relevant": "perhaps"}, {"query": ""}, {"citation": ""}, {"rank": "x"}):
        assert visitor.post(VOTE, vote_fields(**changed)).status_code == 400, changed
    assert stored_votes(workspace) == []


def test_hidden_document_looks_missing(visitor, workspace, guide):
    missing = visitor.post(VOTE, vote_fields(citation="ops/none.md"))
    source = Source.objects.get(workspace=workspace)
    restrict(source, [Group.objects.create(workspace=workspace, name="few").pk])
    hidden = visitor.post(VOTE, vote_fields())

    assert missing.status_code == hidden.status_code == 404
    assert stored_votes(workspace) == []
