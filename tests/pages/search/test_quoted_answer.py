"""The quote above the results of a question."""

import html
import re


def part(visitor, query):
    return visitor.get("/w/handbook/search/answer", {"q": query}, headers={"hx-request": "true"})


def test_question_is_answered_by_a_quote_that_leads_to_its_place(visitor, guide):
    response = part(visitor, "How do I roll back the release?")
    page = response.content.decode()

    assert "Roll back with the tag of the release before." in page
    address = html.unescape(re.search(r'href="([^"]+)"', page)[1])
    assert address.endswith("#L5") and visitor.get(address).status_code == 200
    assert "[#" not in page


def test_nothing_is_quoted_where_no_passage_answers(visitor, guide):
    assert part(visitor, "Who discovered the moons of Jupiter?").content == b""
    assert part(visitor, "x" * 9_000).status_code == 400


def test_only_questions_fetch_a_quote(visitor, guide):
    def fetches(query):
        return "data-answer" in visitor.get("/w/handbook/search", {"q": query}).content.decode()

    assert fetches("restart workers?") and fetches("how to restart workers")
    assert not fetches("restart workers") and not fetches('"restart the workers" one by')


def test_quote_comes_from_documents_that_pass_the_filters(visitor, guide):
    address = "/w/handbook/search/answer"
    asked = {"q": "How do I roll back the release?", "path_glob": "elsewhere/*"}

    assert visitor.get(address, asked, headers={"hx-request": "true"}).content == b""
