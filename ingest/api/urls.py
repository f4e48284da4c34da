"""URLs of documents, sources, jobs, embedding and evaluation, below `/api/v1/`."""

from django.urls import URLPattern, path

from ingest.api.adapters.openai_files import (
    FileContentView,
    FilesView,
    FileView,
    StoreFileContentView,
    StoreFilesView,
    StoreFileView,
)
from ingest.api.adapters.openai_stores import (
    FileBatchCancelView,
    FileBatchesView,
    FileBatchFilesView,
    FileBatchView,
    OtherCallView,
    VectorStoresView,
    VectorStoreView,
)
from ingest.api.documents.bulk import BulkDocumentsView
from ingest.api.documents.views import DocumentFileView, DocumentsView, OneDocumentView
from ingest.api.embedding import EmbeddingRollbackView, EmbeddingSwitchView, EmbeddingView, OneSpaceView
from ingest.api.evaluation.runs import (
    EvalGateView,
    EvalRunComparisonView,
    EvalRunsView,
    EvalRunTopicsView,
    EvalRunTrecView,
    OneEvalRunView,
)
from ingest.api.jobs.views import (
    JobCancelView,
    JobDismissalView,
    JobEventsView,
    JobItemsView,
    JobRetryView,
    JobsView,
    OneJobView,
)
from ingest.api.quarantine import OneQuarantinedView, QuarantineRetryView, QuarantineView
from ingest.api.sources.views import (
    OneSourceView,
    SourcesView,
    SourceSyncView,
    SourceTestView,
    SourceVersionsView,
)
from kebab.http.api.urls import below_workspace

_SOURCE = "/sources/<uuid:source_id>"
_JOB = "/jobs/<uuid:job_id>"
_STORES = "openai/vector_stores"
_STORE_FILES = f"{_STORES}/<str:store>/files"
_BATCHES = f"{_STORES}/<str:store>/file_batches"
_RUN = "/eval/runs/<uuid:run_id>"

urlpatterns: list[URLPattern] = [
    path("openai/files", FilesView.as_view(), name="api-openai-files"),
    path("openai/files/<str:file_id>", FileView.as_view(), name="api-openai-file"),
    path("openai/files/<str:file_id>/content", FileContentView.as_view(), name="api-openai-file-content"),
    path(_STORES, VectorStoresView.as_view(), name="api-openai-stores"),
    path(f"{_STORES}/<str:store>", VectorStoreView.as_view(), name="api-openai-store"),
    path(_STORE_FILES, StoreFilesView.as_view(), name="api-openai-store-files"),
    path(f"{_STORE_FILES}/<str:file_id>", StoreFileView.as_view(), name="api-openai-store-file"),
    path(
        f"{_STORE_FILES}/<str:file_id>/content",
        StoreFileContentView.as_view(),
        name="api-openai-store-file-content",
    ),
    path(_BATCHES, FileBatchesView.as_view(), name="api-openai-batches"),
    path(f"{_BATCHES}/<str:batch_id>", FileBatchView.as_view(), name="api-openai-batch"),
    path(f"{_BATCHES}/<str:batch_id>/cancel", FileBatchCancelView.as_view(), name="api-openai-batch-cancel"),
    path(f"{_BATCHES}/<str:batch_id>/files", FileBatchFilesView.as_view(), name="api-openai-batch-files"),
    path("openai/<path:call>", OtherCallView.as_view(), name="api-openai-other"),
    below_workspace("/documents", DocumentsView.as_view(), "api-documents"),
    below_workspace("/documents/bulk", BulkDocumentsView.as_view(), "api-documents-bulk"),
    below_workspace("/documents/file", DocumentFileView.as_view(), "api-document-file"),
    below_workspace("/documents/<hex32:doc_id>", OneDocumentView.as_view(), "api-document"),
    below_workspace("/sources", SourcesView.as_view(), "api-sources"),
    below_workspace(_SOURCE, OneSourceView.as_view(), "api-source"),
    below_workspace(f"{_SOURCE}/sync", SourceSyncView.as_view(), "api-source-sync"),
    below_workspace(f"{_SOURCE}/test", SourceTestView.as_view(), "api-source-test"),
    below_workspace(f"{_SOURCE}/versions", SourceVersionsView.as_view(), "api-source-versions"),
    below_workspace("/embedding", EmbeddingView.as_view(), "api-embedding"),
    below_workspace("/embedding/switch", EmbeddingSwitchView.as_view(), "api-embedding-switch"),
    below_workspace("/embedding/rollback", EmbeddingRollbackView.as_view(), "api-embedding-rollback"),
    below_workspace("/embedding/spaces/<int:space_id>", OneSpaceView.as_view(), "api-embedding-space"),
    below_workspace("/jobs", JobsView.as_view(), "api-jobs"),
    below_workspace(_JOB, OneJobView.as_view(), "api-job"),
    below_workspace(f"{_JOB}/items", JobItemsView.as_view(), "api-job-items"),
    below_workspace(f"{_JOB}/events", JobEventsView.as_view(), "api-job-events"),
    below_workspace(f"{_JOB}/cancel", JobCancelView.as_view(), "api-job-cancel"),
    below_workspace(f"{_JOB}/retry", JobRetryView.as_view(), "api-job-retry"),
    below_workspace(f"{_JOB}/dismiss", JobDismissalView.as_view(), "api-job-dismissal"),
    below_workspace("/quarantine", QuarantineView.as_view(), "api-quarantine"),
    below_workspace("/quarantine/<int:entry_id>", OneQuarantinedView.as_view(), "api-quarantined"),
    below_workspace(
        "/quarantine/<int:entry_id>/retry", QuarantineRetryView.as_view(), "api-quarantine-retry"
    ),
    below_workspace("/eval/gate", EvalGateView.as_view(), "api-eval-gate"),
    below_workspace("/eval/runs", EvalRunsView.as_view(), "api-eval-runs"),
    below_workspace(_RUN, OneEvalRunView.as_view(), "api-eval-run"),
    below_workspace(f"{_RUN}/topics", EvalRunTopicsView.as_view(), "api-eval-run-topics"),
    below_workspace(f"{_RUN}/trec", EvalRunTrecView.as_view(), "api-eval-run-trec"),
    below_workspace(f"{_RUN}/compare", EvalRunComparisonView.as_view(), "api-eval-run-comparison"),
]
