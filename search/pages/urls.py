"""URLs of the pages."""

from django.templatetags.static import static
from django.urls import path
from django.views.generic import RedirectView

import kebab.http.api.urls  # noqa: F401  # registers the converter of document ids
from search.notifications.feed import FeedView
from search.pages.ask.views import urlpatterns as asking
from search.pages.bookmarks import bookmark, bookmarks_page
from search.pages.document.views import document_chunks_page, document_page, document_picture, document_sheet
from search.pages.home import HomePage, WorkspacesPage, describe_search, search_everywhere
from search.pages.insight import insight_page, store_review
from search.pages.rules import RulesPage, delete_shown_rule, switch_rule
from search.pages.saved_searches import (
    SavedSearchesPage,
    SavedSearchFeed,
    change_saved_search,
    delete_saved_search,
)
from search.pages.search.more import MoreHits, quoted_answer, vote
from search.pages.search.views import CountedFilters, SearchPage

_W = "w/<str:slug>"
_DOCUMENT = f"{_W}/documents/<hex32:doc_id>"

urlpatterns = [
    # Browsers request it on pages that name no icon, like the admin's.
    path("favicon.ico", RedirectView.as_view(url=static("kebab/kebab.svg"))),
    path("", HomePage.as_view(), name="home"),
    path("workspaces", WorkspacesPage.as_view(), name="workspaces"),
    path("opensearch.xml", describe_search, name="opensearch"),
    path("feeds/<str:secret>", FeedView.as_view(), name="feed"),
    path("search", search_everywhere.as_view(), name="everywhere"),
    path(f"{_W}/search", SearchPage.as_view(), name="search"),
    path(f"{_W}/search/answer", quoted_answer.as_view(), name="search-answer"),
    path(f"{_W}/search/filters", CountedFilters.as_view(), name="search-filters"),
    path(f"{_W}/bookmarks", bookmarks_page.as_view(), name="bookmarks"),
    path(f"{_W}/bookmarks/<hex32:doc_id>", bookmark.as_view(), name="bookmark"),
    path(f"{_W}/settings/rules", RulesPage.as_view(), name="rules"),
    path(f"{_W}/settings/rules/<hex32:rule_id>/switch", switch_rule.as_view(), name="rule-switch"),
    path(f"{_W}/settings/rules/<hex32:rule_id>/delete", delete_shown_rule.as_view(), name="rule-deletion"),
    path(f"{_W}/saved", SavedSearchesPage.as_view(), name="saved-searches"),
    path(f"{_W}/saved/<uuid:search_id>", change_saved_search.as_view(), name="saved-search"),
    path(f"{_W}/saved/<uuid:search_id>/delete", delete_saved_search.as_view(), name="saved-search-deletion"),
    path(f"{_W}/saved/<uuid:search_id>/feed", SavedSearchFeed.as_view(), name="saved-search-feed"),
    path(f"{_W}/insight", insight_page.as_view(), name="insight"),
    path(f"{_W}/insight/review", store_review.as_view(), name="query-review"),
    path(f"{_W}/search/more", MoreHits.as_view(), name="search-more"),
    path(f"{_W}/search/vote", vote.as_view(), name="search-vote"),
    path(_DOCUMENT, document_page.as_view(), name="document"),
    path(f"{_DOCUMENT}/chunks", document_chunks_page.as_view(), name="document-chunks"),
    path(f"{_DOCUMENT}/pages/<int:page>.png", document_sheet.as_view(), name="document-sheet"),
    path(f"{_DOCUMENT}/picture", document_picture.as_view(), name="document-picture"),
    *asking,
]
