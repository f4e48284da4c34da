"""The page of saved searches."""

import re

from search.models import SavedSearch

LIST = "/w/handbook/saved"


def test_search_is_saved_from_its_page_run_again_and_deleted(visitor, guide):
    page = visitor.get("/w/handbook/search?q=restart&mode=lexical&lang=en").content.decode()
    link = re.search(r'href="(/w/handbook/saved\?[^"]+)"', page).group(1).replace("&amp;", "&")
    form = visitor.get(link).content.decode()
    action = re.search(r'action="(/w/handbook/saved\?[^"]+)"', form).group(1).replace("&amp;", "&")
    assert visitor.post(action, {"name": "Restarts", "notify": "no"}).url == LIST

    saved = SavedSearch.objects.get()
    assert (saved.text, saved.mode, saved.filters) == ("restart", "lexical", {"lang": ["en"]})
    assert "/w/handbook/search?q=restart&amp;mode=lexical&amp;lang=en" in visitor.get(LIST).content.decode()
    one = f"{LIST}/{saved.pk}"
    assert visitor.post(one, {"name": "Again", "notify": "webhook"}).url == LIST
    assert list(SavedSearch.objects.values_list("name", "notify")) == [("Again", "webhook")]
    assert visitor.post(one, {"name": "x" * 201, "notify": "no"}).url == LIST
    assert SavedSearch.objects.get().name == "Again"
    assert visitor.post(f"{one}/delete").url == LIST
    assert not SavedSearch.objects.exists()


def test_feed_is_opened_shown_once_and_closed(visitor, guide):
    visitor.post(f"{LIST}?q=restart", {"name": "", "notify": "no"})
    one = f"{LIST}/{SavedSearch.objects.get().pk}/feed"
    feed = re.search(r'value="http://testserver(/feeds/[^"]+)"', visitor.post(one).content.decode()).group(1)
    assert "<entry>" in visitor.get(feed).content.decode()
    assert feed not in visitor.get(LIST).content.decode()
    assert visitor.post(f"{one}?on=no").url == LIST
    assert visitor.get(feed).status_code == 404


def test_search_that_can_not_be_saved_is_refused_on_its_form(visitor, guide):
    for address, status in ((LIST, 400), (f"{LIST}?q=restart&k=7", 400), (f"{LIST}?q=restart&media=x", 400)):
        assert visitor.post(address, {"name": "", "notify": "no"}).status_code == status
    assert not SavedSearch.objects.exists()
