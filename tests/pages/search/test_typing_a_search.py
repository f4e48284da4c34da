"""The search page's results as the user types."""

from tests.pages.search.shelf import index, shelve


def get_partial(visitor, **parameters):
    return visitor.get("/w/handbook/search", parameters, headers={"hx-request": "true"})


def test_typed_query_is_answered_with_the_hits_only(visitor, guide):
    page = get_partial(visitor, q="restart").content.decode()

    assert "<mark>restart</mark>" in page
    assert "<title>restart · Team handbook · Kebab</title>" in page
    assert "<html" not in page and 'name="q"' not in page


def test_results_contain_the_document_with_each_letter_of_a_word(visitor, workspace, guide, subtests):
    shelve(workspace, "break.md", "take a rest")  # `rest` is a word, too
    index(workspace)
    for typed in ("res", "rest", "resta", "restar", "restart"):
        with subtests.test(typed=typed):
            shown = get_partial(visitor, q=typed, mode="lexical").context
            assert guide.doc_id.hex in {hit["hit"].doc_id for hit in shown["hits"]}
            assert (shown["result"].corrected_query, shown["result"].did_you_mean) == (None, None)


def test_count_is_announced_to_screen_readers_and_the_address_follows(visitor, guide):
    found, nothing = (
        get_partial(visitor, q="restart ü", mode="lexical"),
        get_partial(visitor, q="zebra", mode="lexical"),
    )

    assert '<p id="count" hx-swap-oob="innerHTML">1 ' in found.content.decode()
    assert '<p id="count" hx-swap-oob="innerHTML">No ' in nothing.content.decode()
    assert found["HX-Replace-Url"] == "/w/handbook/search?q=restart+%C3%BC&mode=lexical&k=10"
    assert get_partial(visitor, q=" ")["HX-Replace-Url"] == "/w/handbook/search"


def test_invalid_typed_query_is_refused_in_the_result_area(visitor, guide):
    response = get_partial(visitor, q="'\"'")
    page = response.content.decode()

    assert response.status_code == 400
    assert "<html" not in page
    assert response["HX-Replace-Url"].startswith("/w/handbook/search?q=%27%22%27")


def test_a_page_that_the_browser_restores_is_whole(visitor, guide):
    headers = {"hx-request": "true", "hx-history-restore-request": "true"}
    page = visitor.get("/w/handbook/search", {"q": "restart"}, headers=headers).content.decode()

    assert "<html" in page


def test_stranger_learns_nothing_by_typing(client, guide, django_user_model):
    client.force_login(django_user_model.objects.create_user("eve@example.org"))
    for query in ("restart", "'\"'", ""):
        response = client.get("/w/handbook/search", {"q": query}, headers={"hx-request": "true"})
        assert response.status_code == 404
        assert "HX-Replace-Url" not in response
