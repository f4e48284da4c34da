"""The search page's filters: links, counts and removal."""

import html
import re

import pytest

from kebab.identity.models import Group
from search.access.restrictions import restrict
from search.mirror import local_mirrors
from search.models import Document, Source
from tests.pages.search.shelf import index, shelve


@pytest.fixture
def shelf(transactional_db, workspace):
    for n, lang in enumerate(("en", "en", "de")):
        tags = (f"tag{n}", "all")
        shelve(workspace, f"{n}.md", f"restart worker {n}", title=f"Part {n}", lang=lang, tags=tags)
    Source.objects.filter(workspace=workspace).update(title="Our <b>handbook</b>")
    index(workspace)


def search_page(visitor, **parameters):
    return visitor.get("/w/handbook/search", {"mode": "lexical"} | parameters).content.decode()


def links(page):
    """Return the filters' addresses by their labels."""
    found = re.findall(r'<a href="([^"]+)"[^>]*><span class="value">([^<]+)</span>', page)
    return {html.unescape(label): html.unescape(address) for address, label in found}


def hits(page):
    return re.findall(r'id="open-\d+">(Part \d)', page)


def count_for(page, label):
    value = re.search(rf'<span class="value">{label}</span> <span class="documents">(\d+)</span>', page)
    return None if value is None else int(value[1])


def test_values_are_counted_and_chosen_by_links(visitor, shelf):
    page = search_page(visitor, q="restart")
    chosen = visitor.get(links(page)["German"]).content.decode()

    assert count_for(page, "German") == 1 and count_for(page, "English") == 2
    assert hits(chosen) == ["Part 2"]
    assert count_for(chosen, "English") == 2
    assert count_for(chosen, "tag0") is None


def shelve_with_trust(workspace, levels):
    for n, level in enumerate(levels):
        shelve(workspace, f"{n}.md", f"restart worker {n}", title=f"Part {n}", trust_level=level)
    index(workspace)


def test_trust_filter_is_shown_when_trust_levels_differ(transactional_db, visitor, workspace):
    shelve_with_trust(workspace, ["primary", "primary"])
    assert "Primary" not in links(search_page(visitor, q="restart"))
    shelve_with_trust(workspace, ["primary", "unknown", "unknown"])
    page = search_page(visitor, q="restart")

    assert count_for(page, "Primary") == 1
    assert hits(visitor.get(links(page)["Primary"]).content.decode()) == ["Part 0"]


def test_date_filter_is_shown_when_some_documents_are_older(visitor, workspace, shelf):
    assert "Past day" not in links(search_page(visitor, q="restart"))
    Document.objects.in_workspace(workspace).filter(path="0.md").update(indexed_at="2001-02-03T04:05:06Z")
    local_mirrors.mirror_files(workspace.pk).delete_all()
    index(workspace)
    page = search_page(visitor, q="restart")

    assert count_for(page, "Past day") == count_for(page, "Past year") == 2
    assert "Part 0" not in hits(visitor.get(links(page)["Past day"]).content.decode())


def test_author_is_a_filter_and_shown_with_the_date_of_the_document(visitor, workspace, shelf):
    stated = {"author": "Ada <Lovelace>", "date": "2001-02-03"}
    document = shelve(workspace, "3.md", "restart the pump", title="Part 3", metadata=stated)
    index(workspace)
    page = search_page(visitor, q="restart")

    assert count_for(page, "Ada &lt;Lovelace&gt;") == 1
    narrowed = visitor.get(links(page)["Ada <Lovelace>"]).content.decode()
    assert hits(narrowed) == ["Part 3"]
    assert '<span class="fact">Ada &lt;Lovelace&gt;</span>' in narrowed and ">3 Feb 2001</time>" in narrowed
    assert hits(search_page(visitor, q="restart", dated_before="2001-02-04")) == ["Part 3"]
    shown = visitor.get(f"/w/handbook/documents/{document.doc_id.hex}").content.decode()
    assert " · Ada &lt;Lovelace&gt; · " in shown and ">3 Feb 2001</time>" in shown


def test_a_second_value_of_a_filter_widens_and_the_same_again_leaves_it_out(visitor, shelf):
    german = visitor.get(links(search_page(visitor, q="restart"))["German"]).content.decode()
    both = visitor.get(links(german)["English"]).content.decode()

    assert len(hits(both)) == 3
    assert len(hits(visitor.get(links(both)["German"]).content.decode())) == 2


def test_filters_in_use_are_removed_one_by_one_or_all(visitor, shelf):
    page = search_page(visitor, q="restart", lang="de", tags_any="tag2")
    removing = [html.unescape(each) for each in re.findall(r'class="chip[^"]*" href="([^"]+)"', page)]

    assert "Language: German" in page and "Tag: tag2" in page
    assert [len(hits(visitor.get(each).content.decode())) for each in removing] == [1, 1, 3]


def test_a_new_query_mode_and_number_of_hits_keep_the_filters(visitor, shelf):
    page = search_page(visitor, q="restart", lang="de")

    assert '<input type="hidden" name="lang" value="de">' in page
    assert "mode=vector&amp;k=10&amp;lang=de" in page
    assert "mode=lexical&amp;k=20&amp;lang=de" in page


def test_chosen_source_filter_shows_the_source_title(visitor, workspace, shelf):
    page = search_page(visitor, q="restart", source="handbook")

    assert "Source: Our &lt;b&gt;handbook&lt;/b&gt;" in page
    assert len(hits(page)) == 3


def test_nothing_found_with_filters_offers_the_search_without(visitor, shelf):
    page = search_page(visitor, q="restart", lang="fr")
    address = re.search(r'<a class="button quiet" href="([^"]+)"', page)[1]

    assert len(hits(visitor.get(html.unescape(address)).content.decode())) == 3


def test_filters_that_cannot_be_understood_are_refused_with_the_remedy(visitor, shelf):
    many = [f"t{n}" for n in range(101)]
    for name, value, named in [
        ("trust_min", "<best>", "&lt;best&gt;"),
        ("ingested_after", "soon", "soon"),
        ("dated_before", "soon", "soon"),
        ("media", "vinyl", "vinyl"),
        ("tags_any", many, "100"),
    ]:
        response = visitor.get("/w/handbook/search", {"q": "restart", name: value})
        assert response.status_code == 400
        assert named in re.search(r'id="problem".*?</div', response.content.decode(), re.DOTALL)[0]


def test_last_of_repeated_time_filters_counts(visitor, shelf):
    page = search_page(visitor, q="restart", ingested_after=["2000-01-01", "2999-01-01"])

    assert hits(page) == []
    assert "Added since: 2999-01-01" in page
    assert len(hits(search_page(visitor, q="restart", ingested_after="2000-01-01"))) == 3


def test_typed_search_gets_hits_first_and_the_address_of_counts(visitor, shelf):
    page = visitor.get(
        "/w/handbook/search", {"q": "restart"}, headers={"hx-request": "true"}
    ).content.decode()
    address = html.unescape(re.search(r'hx-get="([^"]+)" hx-trigger="load', page)[1])

    assert 'class="facet"' not in page
    assert count_for(visitor.get(address).content.decode(), "German") == 1


def test_counts_that_would_take_too_long_are_left_out(visitor, shelf, settings):
    settings.KEBAB_LEG_LIMIT_MS = 0
    page = search_page(visitor, q="restart", mode="vector")

    assert 'class="facet"' not in page
    assert len(hits(page)) == 3
    part = visitor.get("/w/handbook/search/filters", {"q": "restart"}, headers={"hx-request": "true"})
    assert 'class="facet"' not in part.content.decode()


def test_a_query_whose_words_make_no_sense_is_searched_for_by_meaning_without_counts(visitor, shelf):
    page = search_page(visitor, q="'\"'", mode="vector")

    assert len(hits(page)) == 3
    assert 'class="facet"' not in page


def test_refused_filters_take_the_place_of_those_before(visitor, shelf):
    address = "/w/handbook/search/filters?q=restart&trust_min=best"
    response = visitor.get(address, headers={"hx-request": "true"})

    assert response.status_code == 400
    assert response["HX-Reswap"] == "innerHTML"
    assert response.content.decode().strip() == ""


def test_filters_that_are_opened_as_a_page_lead_to_the_search(visitor, shelf):
    headers = {"sec-fetch-dest": "document"}
    response = visitor.get("/w/handbook/search/filters", {"q": "restart", "lang": "de"}, headers=headers)

    assert response.status_code == 302
    assert response.url == "/w/handbook/search?q=restart&mode=hybrid&k=10&lang=de"


def test_hidden_source_filter_shows_the_key_as_typed(visitor, workspace, shelf):
    source = Source.objects.get(workspace=workspace)
    restrict(source, [Group.objects.create(workspace=workspace, name="few").pk])
    page = search_page(visitor, q="restart", source="handbook")

    assert "Source: handbook" in page
    assert "Our " not in page and 'class="facet"' not in page
    assert hits(page) == []
