"""URLs of the pages of sources, uploads, jobs and the quarantine."""

from django.urls import path

from ingest.pages.jobs import JobCancel, JobPage, JobRetry, JobsPage
from ingest.pages.quarantine import QuarantineDelete, QuarantinePage, QuarantineRetry
from ingest.pages.sources.edit import EditSourcePage, NewSourcePage
from ingest.pages.sources.views import SourceDelete, SourcePage, SourcesPage, SourceSync
from ingest.pages.upload import UploadPage

_SOURCE = "w/<str:slug>/sources/<uuid:source_id>"
_JOB = "w/<str:slug>/jobs/<uuid:job_id>"
_ENTRY = "w/<str:slug>/quarantine/<int:entry_id>"

urlpatterns = [
    path("w/<str:slug>/sources", SourcesPage.as_view(), name="sources"),
    path("w/<str:slug>/sources/new", NewSourcePage.as_view(), name="new-source"),
    path(_SOURCE, SourcePage.as_view(), name="source"),
    path(f"{_SOURCE}/edit", EditSourcePage.as_view(), name="source-edit"),
    path(f"{_SOURCE}/sync", SourceSync.as_view(), name="source-sync"),
    path(f"{_SOURCE}/delete", SourceDelete.as_view(), name="source-delete"),
    path("w/<str:slug>/upload", UploadPage.as_view(), name="upload"),
    path("w/<str:slug>/jobs", JobsPage.as_view(), name="jobs"),
    path(_JOB, JobPage.as_view(), name="job"),
    path(f"{_JOB}/cancel", JobCancel.as_view(), name="job-cancel"),
    path(f"{_JOB}/retry", JobRetry.as_view(), name="job-retry"),
    path("w/<str:slug>/quarantine", QuarantinePage.as_view(), name="quarantine"),
    path(f"{_ENTRY}/retry", QuarantineRetry.as_view(), name="quarantine-retry"),
    path(f"{_ENTRY}/delete", QuarantineDelete.as_view(), name="quarantine-delete"),
]
