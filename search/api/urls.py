"""The addresses of searching and reading, below `/api/v1/`; documents are listed and changed by `ingest`."""

from django.urls import path

from kebab.api.urls import below_workspace
from search.api.documents import ChunkView, DocumentChunksView, DocumentContentView
from search.api.schemas import WireSchemaView
from search.api.search import SearchView

_DOCUMENT = "/documents/<hex32:doc_id>"

urlpatterns = [
    path("schemas/<str:name>", WireSchemaView.as_view(), name="api-schema"),
    below_workspace("/search", SearchView.as_view(), "api-search"),
    below_workspace(f"{_DOCUMENT}/content", DocumentContentView.as_view(), "api-document-content"),
    below_workspace(f"{_DOCUMENT}/chunks", DocumentChunksView.as_view(), "api-document-chunks"),
    below_workspace("/chunks/<hex32:chunk_id>", ChunkView.as_view(), "api-chunk"),
]
