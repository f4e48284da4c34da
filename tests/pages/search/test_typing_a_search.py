"""The search page while somebody types."""

import pytest


def typed(visitor, **parameters):
    return visitor.get("/w/handbook/search", parameters, headers={"hx-request": "true"})


def test_what_is_typed_is_answered_with_the_hits_alone(visitor, guide):
    page = typed(visitor, q="restart").content.decode()

    assert "<mark>restart</mark>" in page
    assert "<title>restart · Team handbook · Kebab</title>" in page
    assert "<html" not in page and 'name="q"' not in page


def test_the_address_follows_what_is_typed(visitor, guide):
    assert typed(visitor, q="restart ü")["HX-Replace-Url"] == (
        "/w/handbook/search?q=restart+%C3%BC&mode=hybrid&k=10"
    )
    assert typed(visitor, q=" ")["HX-Replace-Url"] == "/w/handbook/search"


def test_the_count_is_told_to_who_cannot_see_it(visitor, guide):
    found = typed(visitor, q="restart", mode="lexical").content.decode()
    nothing = typed(visitor, q="zebra", mode="lexical").content.decode()

    assert '<p id="count" hx-swap-oob="innerHTML">1 hit</p>' in found
    assert '<p id="count" hx-swap-oob="innerHTML">No hits</p>' in nothing


def test_half_a_query_that_cannot_be_understood_is_refused_in_its_place(visitor, guide):
    response = typed(visitor, q="'\"'")
    page = response.content.decode()

    assert response.status_code == 400
    assert "is not FTS5 syntax" in page
    assert "<html" not in page
    assert response["HX-Replace-Url"].startswith("/w/handbook/search?q=%27%22%27")


def test_a_page_that_the_browser_restores_is_whole(visitor, guide):
    headers = {"hx-request": "true", "hx-history-restore-request": "true"}
    page = visitor.get("/w/handbook/search", {"q": "restart"}, headers=headers).content.decode()

    assert "<html" in page


@pytest.mark.parametrize("query", ["restart", "'\"'", ""])
def test_a_stranger_learns_nothing_by_typing(client, guide, django_user_model, query):
    client.force_login(django_user_model.objects.create_user("eve@example.org"))
    response = client.get("/w/handbook/search", {"q": query}, headers={"hx-request": "true"})

    assert response.status_code == 404
    assert "HX-Replace-Url" not in response
