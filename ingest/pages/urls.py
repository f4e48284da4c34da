"""URLs of the pages of sources, uploads, activity and unreadable files."""

from django.urls import path

from ingest.pages.activity.views import (
    ActivityPage,
    ActPage,
    OldJobsAddress,
    dismiss,
    request_cancellation,
    request_retry,
)
from ingest.pages.embedding import EmbeddingPage
from ingest.pages.marks import mark_document
from ingest.pages.quarantine import QuarantinePage, delete_entry, retry_entry
from ingest.pages.sources.edit import EditSourcePage, NewSourcePage
from ingest.pages.sources.views import (
    SourcePage,
    SourcesPage,
    delete_documents,
    request_deletion,
    request_sync,
    request_version_deletion,
    test_source,
)
from ingest.pages.upload import UploadPage

_SOURCE = "w/<str:slug>/sources/<uuid:source_id>"
_ACT = "w/<str:slug>/activity/<uuid:job_id>"
_ENTRY = "w/<str:slug>/quarantine/<int:entry_id>"

urlpatterns = [
    path("w/<str:slug>/sources", SourcesPage.as_view(), name="sources"),
    path("w/<str:slug>/sources/new", NewSourcePage.as_view(), name="new-source"),
    path(_SOURCE, SourcePage.as_view(), name="source"),
    path(f"{_SOURCE}/edit", EditSourcePage.as_view(), name="source-edit"),
    path(f"{_SOURCE}/sync", request_sync.as_view(), name="source-sync"),
    path(f"{_SOURCE}/test", test_source.as_view(), name="source-test"),
    path(f"{_SOURCE}/delete", request_deletion.as_view(), name="source-delete"),
    path(f"{_SOURCE}/documents/delete", delete_documents.as_view(), name="source-documents-delete"),
    path(f"{_SOURCE}/versions/delete", request_version_deletion.as_view(), name="version-delete"),
    path("w/<str:slug>/settings/embedding", EmbeddingPage.as_view(), name="settings-embedding"),
    path("w/<str:slug>/documents/<hex32:doc_id>/mark", mark_document.as_view(), name="document-mark"),
    path("w/<str:slug>/upload", UploadPage.as_view(), name="upload"),
    path("w/<str:slug>/activity", ActivityPage.as_view(), name="activity"),
    path(_ACT, ActPage.as_view(), name="act"),
    path(f"{_ACT}/cancel", request_cancellation.as_view(), name="act-cancel"),
    path(f"{_ACT}/retry", request_retry.as_view(), name="act-retry"),
    path(f"{_ACT}/dismiss", dismiss.as_view(), name="act-dismiss"),
    path("w/<str:slug>/jobs", OldJobsAddress.as_view(pattern_name="activity"), name="jobs"),
    path("w/<str:slug>/jobs/<uuid:job_id>", OldJobsAddress.as_view(pattern_name="act"), name="job"),
    path("w/<str:slug>/quarantine", QuarantinePage.as_view(), name="quarantine"),
    path(f"{_ENTRY}/retry", retry_entry.as_view(), name="quarantine-retry"),
    path(f"{_ENTRY}/delete", delete_entry.as_view(), name="quarantine-delete"),
]
