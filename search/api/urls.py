"""URLs of search and reading below `/api/v1/`; `ingest` has those that list and change documents."""

from django.urls import path

from kebab.http.api.urls import below_workspace
from search.api.adapters.dify import DifyRetrievalView
from search.api.adapters.openai import VectorStoreSearchView
from search.api.analytics import AnalyticsView, QueryReviewsView
from search.api.answers.views import AnswerCheckView, AnswersView, AskView, OneAnswerView
from search.api.bookmarks import BookmarksView, OneBookmarkView
from search.api.context import ContextView, LibrarySearchView, SnippetSearchView
from search.api.documents import ChunkView, DocumentChunksView, DocumentContentView
from search.api.evaluation.feedback import FeedbackView
from search.api.evaluation.topics import (
    EvalTopicExportView,
    EvalTopicSetsView,
    EvalTopicsOfFeedbackView,
    EvalTopicsView,
    OneEvalTopicView,
)
from search.api.inspection import DocumentInspectionView
from search.api.rules import OneRuleView, RulesView
from search.api.saved_searches import OneSavedSearchView, SavedSearchesView, SavedSearchFeedView
from search.api.schemas import WireSchemaView
from search.api.search import BulkSearchView, ContextPackView, SearchView
from search.api.several import SeveralSearchView
from search.api.suggest import SuggestView

_DOCUMENT = "/documents/<hex32:doc_id>"
_TOPICS = "/eval/topics"
_SAVED = "/saved-searches/<uuid:search_id>"
_ANSWER = "/answers/<uuid:answer_id>"

# Searches first: a URL is compared with the patterns before its own.
urlpatterns = [
    below_workspace("/search", SearchView.as_view(), "api-search"),
    below_workspace("/search/bulk", BulkSearchView.as_view(), "api-search-bulk"),
    below_workspace("/suggest", SuggestView.as_view(), "api-suggest"),
    below_workspace("/rules", RulesView.as_view(), "api-rules"),
    below_workspace("/rules/<hex32:rule_id>", OneRuleView.as_view(), "api-rule"),
    below_workspace("/analytics", AnalyticsView.as_view(), "api-analytics"),
    below_workspace("/analytics/reviews", QueryReviewsView.as_view(), "api-query-reviews"),
    below_workspace("/libs/search", LibrarySearchView.as_view(), "api-library-search"),
    below_workspace("/libs/snippets", SnippetSearchView.as_view(), "api-snippet-search"),
    below_workspace("/context", ContextView.as_view(), "api-context"),
    below_workspace("/context-pack", ContextPackView.as_view(), "api-context-pack"),
    below_workspace("/ask", AskView.as_view(), "api-ask"),
    below_workspace("/answers", AnswersView.as_view(), "api-answers"),
    below_workspace(_ANSWER, OneAnswerView.as_view(), "api-answer"),
    below_workspace(f"{_ANSWER}/check", AnswerCheckView.as_view(), "api-answer-check"),
    below_workspace(f"{_DOCUMENT}/content", DocumentContentView.as_view(), "api-document-content"),
    below_workspace(f"{_DOCUMENT}/inspection", DocumentInspectionView.as_view(), "api-document-inspection"),
    below_workspace(f"{_DOCUMENT}/chunks", DocumentChunksView.as_view(), "api-document-chunks"),
    below_workspace(_TOPICS, EvalTopicsView.as_view(), "api-eval-topics"),
    below_workspace(f"{_TOPICS}/sets", EvalTopicSetsView.as_view(), "api-eval-topic-sets"),
    below_workspace(f"{_TOPICS}/export", EvalTopicExportView.as_view(), "api-eval-topic-export"),
    below_workspace(
        f"{_TOPICS}/from-feedback", EvalTopicsOfFeedbackView.as_view(), "api-eval-topics-of-feedback"
    ),
    below_workspace(f"{_TOPICS}/<uuid:topic_id>", OneEvalTopicView.as_view(), "api-eval-topic"),
    below_workspace("/saved-searches", SavedSearchesView.as_view(), "api-saved-searches"),
    below_workspace(_SAVED, OneSavedSearchView.as_view(), "api-saved-search"),
    below_workspace(f"{_SAVED}/feed", SavedSearchFeedView.as_view(), "api-saved-search-feed"),
    below_workspace("/bookmarks", BookmarksView.as_view(), "api-bookmarks"),
    below_workspace("/bookmarks/<hex32:doc_id>", OneBookmarkView.as_view(), "api-bookmark"),
    below_workspace("/feedback", FeedbackView.as_view(), "api-feedback"),
    below_workspace("/chunks/<hex32:chunk_id>", ChunkView.as_view(), "api-chunk"),
    path("schemas/<str:name>", WireSchemaView.as_view(), name="api-schema"),
    path("dify/retrieval", DifyRetrievalView.as_view(), name="api-dify-retrieval"),
    path(
        "openai/vector_stores/<str:store>/search", VectorStoreSearchView.as_view(), name="api-openai-search"
    ),
    path("search", SeveralSearchView.as_view(), name="api-search-several"),
]
