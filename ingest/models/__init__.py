"""Jobs, their items, unreadable files and pages of web sites."""

from ingest.models.job import (
    DOCUMENT_KINDS,
    HEEDS_DELETIONS,
    MEMBER_KINDS,
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
    "DOCUMENT_KINDS",
    "HEEDS_DELETIONS",
    "MEMBER_KINDS",
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
