"""Jobs, their items, unreadable files and pages of web sites."""

from ingest.models.job import (
    HEEDS_DELETIONS,
    OPEN_STATES,
    READS_DOCUMENTS,
    UPLOAD_KINDS,
    ItemState,
    Job,
    JobItem,
    JobKind,
    JobState,
)
from ingest.models.page import WebPage
from ingest.models.unreadable import Unreadable

__all__ = [
    "HEEDS_DELETIONS",
    "OPEN_STATES",
    "READS_DOCUMENTS",
    "UPLOAD_KINDS",
    "ItemState",
    "Job",
    "JobItem",
    "JobKind",
    "JobState",
    "Unreadable",
    "WebPage",
]
