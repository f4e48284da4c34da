"""URLs of the pages."""

from django.templatetags.static import static
from django.urls import path
from django.views.generic import RedirectView

import kebab.http.api.urls  # noqa: F401  # registers the converter of document ids
from search.notifications.feed import FeedView
from search.pages.ask.urls import urlpatterns as asking
from search.pages.bookmarks import BookmarksPage, bookmark
from search.pages.document.views import DocumentChunksPage, DocumentPage, DocumentPicture, DocumentSheet
from search.pages.home import HomePage, OpenSearchDescription, SearchEverywhere, WorkspacesPage
from search.pages.insight import InsightPage, store_review
from search.pages.rules import RulesPage, delete_shown_rule, switch_rule
from search.pages.saved_searches import (
    SavedSearchesPage,
    SavedSearchFeed,
    change_saved_search,
    delete_saved_search,
)
from search.pages.search.more import MoreHits, QuotedAnswer, vote
from search.pages.search.views import CountedFilters, SearchPage

urlpatterns = [
    # Browsers request it on pages that name no icon, like the admin's.
    path("favicon.ico", RedirectView.as_view(url=static("kebab/kebab.svg"))),
    path("", HomePage.as_view(), name="home"),
    path("workspaces", WorkspacesPage.as_view(), name="workspaces"),
    path("opensearch.xml", OpenSearchDescription.as_view(), name="opensearch"),
    path("feeds/<str:secret>", FeedView.as_view(), name="feed"),
    path("search", SearchEverywhere.as_view(), name="everywhere"),
    path("w/<str:slug>/search", SearchPage.as_view(), name="search"),
    path("w/<str:slug>/search/answer", QuotedAnswer.as_view(), name="search-answer"),
    path("w/<str:slug>/search/filters", CountedFilters.as_view(), name="search-filters"),
    path("w/<str:slug>/bookmarks", BookmarksPage.as_view(), name="bookmarks"),
    path("w/<str:slug>/bookmarks/<hex32:doc_id>", bookmark.as_view(), name="bookmark"),
    path("w/<str:slug>/settings/rules", RulesPage.as_view(), name="rules"),
    path("w/<str:slug>/settings/rules/<hex32:rule_id>/switch", switch_rule.as_view(), name="rule-switch"),
    path(
        "w/<str:slug>/settings/rules/<hex32:rule_id>/delete",
        delete_shown_rule.as_view(),
        name="rule-deletion",
    ),
    path("w/<str:slug>/saved", SavedSearchesPage.as_view(), name="saved-searches"),
    path("w/<str:slug>/saved/<uuid:search_id>", change_saved_search.as_view(), name="saved-search"),
    path(
        "w/<str:slug>/saved/<uuid:search_id>/delete",
        delete_saved_search.as_view(),
        name="saved-search-deletion",
    ),
    path("w/<str:slug>/saved/<uuid:search_id>/feed", SavedSearchFeed.as_view(), name="saved-search-feed"),
    path("w/<str:slug>/insight", InsightPage.as_view(), name="insight"),
    path("w/<str:slug>/insight/review", store_review.as_view(), name="query-review"),
    path("w/<str:slug>/search/more", MoreHits.as_view(), name="search-more"),
    path("w/<str:slug>/search/vote", vote.as_view(), name="search-vote"),
    path("w/<str:slug>/documents/<hex32:doc_id>", DocumentPage.as_view(), name="document"),
    path(
        "w/<str:slug>/documents/<hex32:doc_id>/chunks", DocumentChunksPage.as_view(), name="document-chunks"
    ),
    path(
        "w/<str:slug>/documents/<hex32:doc_id>/pages/<int:page>.png",
        DocumentSheet.as_view(),
        name="document-sheet",
    ),
    path("w/<str:slug>/documents/<hex32:doc_id>/picture", DocumentPicture.as_view(), name="document-picture"),
    *asking,
]
