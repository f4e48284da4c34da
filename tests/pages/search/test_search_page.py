"""The search page."""

import html
import re

from kebab.identity.models import Workspace
from search.pages.search.hits import mark_words
from search.retrieval.errors import NotSearchableYet
from tests.pages.search.shelf import index, passages_of, shelve

HOSTILE = '</li><img src=x onerror=alert(1)> & "quotes" \''


def search_page(visitor, **parameters):
    return visitor.get("/w/handbook/search", parameters)


def text_of(response):
    return response.content.decode()


def legs(page):
    """Return how the first result was found: the place in each list by the name of the list."""
    why = re.search(r'<ul class="legs">.*?</ul>', page, re.S)[0]
    return dict(re.findall(r'class="name">([^<]+)</span> <span class="found-at">([^<]*)<', why))


def test_hit_links_to_its_lines_with_marked_words_ranks_and_the_absent_leg(visitor, guide):
    page = text_of(search_page(visitor, q="restart workers"))
    address = html.unescape(re.search(r'<a href="([^"]+)" id="open-1"', page)[1])

    assert address.startswith(f"/w/handbook/documents/{guide.doc_id.hex}?start=3&end=3&")
    assert address.endswith("#L3")
    assert '<p class="mono">ops/deploy.md#L3</p>' in page
    assert "then <mark>restart</mark> the <mark>workers</mark>" in page
    assert legs(page) == {"Word match": "place 1", "Similar meaning": "place 1", "Combined": ""}
    assert re.search(r'<meter [^>]*aria-label="Combined">\d+ %</meter>', page)


def test_document_shows_its_further_sections(visitor, guide):
    page = text_of(search_page(visitor, q="restart workers"))
    assert page.count('<li class="result"') == 1
    assert re.search(r'<ul class="sections">\s*<li><a href="[^"]+#L\d+" title="ops/deploy.md#L\d+', page)


def test_operators_in_the_search_box_are_obeyed_and_counted(visitor, guide):
    assert '<li class="result"' in text_of(search_page(visitor, q='"restart the" path:ops/'))
    page = text_of(search_page(visitor, q="restart -path:ops/ after:soon"))
    assert '<li class="result"' not in page and "-path:ops/" in page
    assert "after:soon&#x27; was searched for as text" in page
    filters = text_of(visitor.get("/w/handbook/search/filters", {"q": "restart -path:ops/"}))
    assert "<li" not in filters


def test_a_single_mode_shows_its_leg_alone(visitor, guide):
    lexical = text_of(search_page(visitor, q="restart", mode="lexical"))
    vector = text_of(search_page(visitor, q="restart", mode="vector"))

    assert set(legs(lexical)) == {"Word match"}
    assert set(legs(vector)) == {"Similar meaning"}


def test_mode_switch_keeps_the_query_and_a_new_query_the_mode(visitor, guide):
    page = text_of(search_page(visitor, q="a&b <c>", mode="lexical", k="20"))

    address = "/w/handbook/search?q=a%26b+%3Cc%3E&amp;mode={}&amp;k=20"
    assert f'<a href="{address.format("vector")}">Similar meaning</a>' in page
    assert f'<a href="{address.format("lexical")}" aria-current="true">Exact words</a>' in page
    assert '<input type="hidden" name="mode" value="lexical">' in page
    assert '<input type="hidden" name="k" value="20">' in page


def test_requested_number_of_hits_is_shown(transactional_db, visitor, workspace):
    for n in range(30):
        shelve(workspace, f"{n}.md", f"entry {n} of the list")
    index(workspace)

    for k in (10, 20):
        assert text_of(search_page(visitor, q="entry", k=k)).count('<li class="result"') == k


def test_a_long_query_is_not_repeated_for_each_hit(transactional_db, visitor, workspace):
    for n in range(60):
        shelve(workspace, f"{n}.md", f"שלום {n}")
    index(workspace)
    page = text_of(search_page(visitor, q="שלום " * 400, k=50, mode="lexical"))

    assert page.count('<li class="result"') == 50
    assert len(page.encode()) < 600_000
    assert "&amp;q=" not in re.search(r'<a href="([^"]+)" id="open-1"', page)[1]
    assert (
        "&amp;q=" in re.search(r'<a href="([^"]+)" id="open-1"', text_of(search_page(visitor, q="שלום")))[1]
    )


def test_invalid_query_is_reported_above_the_form(visitor, guide):
    cases = [
        ({"mode": "<psychic>"}, "&lt;psychic&gt;"),
        ({"k": "1000000"}, "10, 20, 50"),
        ({"k": "-1"}, "10, 20, 50"),
        ({"q": "'\"'"}, "quotation mark"),
    ]
    for parameters, named in cases:
        response = search_page(visitor, **{"q": "restart", **parameters})
        assert response.status_code == 400
        problem = re.search(r'id="problem".*?</div', text_of(response), re.DOTALL)[0]
        assert named in problem, parameters
        assert 'name="q"' in text_of(response)


def test_any_query_is_answered_or_refused(visitor, guide):
    queries = [HOSTILE, "\0\x02\x03", "'", "'" * 3, '"' * 50, "(" * 500, "w " * 3000, "\u202e🥙"]

    for query in queries:
        response = search_page(visitor, q=query)
        assert response.status_code in (200, 400)
        assert "<img src=x" not in text_of(response)


def test_text_of_a_document_is_escaped(transactional_db, visitor, workspace):
    passages = passages_of(f"needle {HOSTILE}", heading_path=(f"heading {HOSTILE}",))
    path = "a <b onmouseover=alert(1)>.md"
    shelve(
        workspace,
        path,
        f"needle {HOSTILE}",
        passages=passages,
        title=f"title {HOSTILE}",
        tags=(f"tag {HOSTILE}",),
    )
    index(workspace)
    page = text_of(search_page(visitor, q="needle"))

    assert "<mark>needle</mark>" in page
    assert "<img src=x" not in page
    assert "<b onmouseover" not in page
    for shown in ("title", "heading", "tag"):
        assert (
            f"{shown} &lt;/li&gt;&lt;img src=x onerror=alert(1)&gt; &amp; &quot;quotes&quot; &#x27;" in page
        )


def test_a_blank_query_searches_nothing(visitor, guide, monkeypatch):
    monkeypatch.setattr("search.pages.search.views.search", None)

    for query in ("", "   "):
        assert search_page(visitor, q=query).status_code == 200


def test_empty_result_links_to_hybrid_mode_and_spelling_suggestions(visitor, guide):
    page = text_of(search_page(visitor, q="zebra", mode="lexical"))
    empty = re.search(r'class="empty.*?</section|class="empty.*?</div', page, re.DOTALL)[0]
    address = re.search(r'href="([^"]+mode=hybrid[^"]*)"', empty)[1]
    assert 'class="result"' in text_of(visitor.get(html.unescape(address)))

    page = text_of(search_page(visitor, q="restrat", mode="lexical"))
    assert "<mark>restart</mark>" in page
    as_typed = re.search(r'<a href="([^"]+)">Search for “restrat” instead</a>', page)[1]
    page = text_of(visitor.get(html.unescape(as_typed)))
    assert "<mark>" not in page
    address = re.search(r'<a href="([^"]+)">restart</a>', page)[1]
    assert "<mark>restart</mark>" in text_of(visitor.get(html.unescape(address)))


def test_search_page_warns_of_missing_leg_lag_and_stale_hits(visitor, workspace, guide, monkeypatch):
    type(guide).objects.in_workspace(workspace).update(indexed_at="2001-02-03T04:05:06Z")
    page = text_of(search_page(visitor, q="restart"))
    assert "may be outdated" in page
    assert "Recent changes" not in page
    monkeypatch.setattr("search.engine.candidates.embedder_for_queries", lambda workspace, space: None)
    monkeypatch.setattr("search.engine.search.local_mirrors.trigger_sync", lambda workspace_id: None)
    shelve(workspace, "new.md", "restart later")

    page = text_of(search_page(visitor, q="restart"))
    assert "Showing word matches only" in page
    assert "Recent changes" in page


def test_rate_limited_search_shows_the_time_to_wait(visitor, guide, monkeypatch):
    def late(*_, **__):
        raise NotSearchableYet("Change 9 is not searchable yet.", retry_after_s=3)

    monkeypatch.setattr("search.pages.search.views.search", late)
    response = search_page(visitor, q="restart")

    assert response.status_code == 503
    assert response["Retry-After"] == "3"


def test_other_workspaces_are_not_searched(visitor, guide, other_workspace):
    shelve(other_workspace, "board.md", "restart the board")
    index(other_workspace)

    assert "board.md" not in text_of(search_page(visitor, q="restart"))


def test_found_words_of_a_snippet_are_marked_and_all_is_escaped():
    assert mark_words("a<c>e", ((0, 1), (2, 3))) == "<mark>a</mark>&lt;<mark>c</mark>&gt;e"
    assert mark_words("", ()) == ""


def test_hit_of_the_exact_leg_shows_its_rank(visitor, transactional_db, workspace):
    shelve(workspace, "api.md", "call turn_valve_off before leaving")
    index(workspace)

    assert legs(text_of(search_page(visitor, q="turn_valve_off")))["Name as written"] == "place 1"


def test_start_pages_offer_the_examples_of_the_workspace_alone(visitor, guide):
    def offered(page):
        return re.findall(r'href="/w/handbook/(?:search\?q|ask\?question)=([^"&]+)"', page)

    for path in ("search", "ask"):
        assert offered(visitor.get(f"/w/handbook/{path}").content.decode()) == []
    Workspace.objects.update(settings={"example_queries": ["wifi", "Where is it?"]})
    assert offered(visitor.get("/w/handbook/search").content.decode()) == ["wifi", "Where%20is%20it%3F"]
    assert offered(visitor.get("/w/handbook/ask").content.decode()) == ["Where%20is%20it%3F"]


def test_best_results_are_sorted_as_the_page_offers(transactional_db, visitor, workspace, subtests):
    for n, title in enumerate("bca"):
        text = f"# {title}\n\nentry {n} of the list"
        shelve(workspace, f"{n}.md", text, title=title, metadata={"date": f"200{n}-01-01"})
    index(workspace)
    for sort, numbers in (("date", "210"), ("date_asc", "012"), ("title", "201")):
        with subtests.test(sort=sort):
            page = text_of(search_page(visitor, q="entry", sort=sort))
            shown = re.findall(r'id="open-\d">([abc])<', page)
            assert shown == ["bca"[int(n)] for n in numbers]
            assert f'<input type="hidden" name="sort" value="{sort}">' in page
            assert set(re.findall(r'[?&;]sort=(\w+)[^>]*aria-current="true"', page)) == {sort}
