"""Quotas of a workspace: limits for documents, bytes and jobs.

A quota is checked before the write that it limits, without a lock: concurrent writes may exceed it by their
own size.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db.models import Sum

from ingest.models import OPEN_STATES, Job, JobKind
from kebab.errors import RateLimited, TooLarge
from kebab.identity.models import Workspace
from kebab.people.workspaces import Quota, quota_of
from search.models import Document

_RETRY_AFTER_S = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The number and size of a workspace's documents."""

    documents: int
    bytes: int

    def exceeded_limit(self, quota: Quota) -> str:
        """Return the message for the limit that this usage exceeds; '' when it is within all."""
        if quota.documents and self.documents > quota.documents:
            return f"The workspace may hold {quota.documents:,} documents."
        if quota.bytes and self.bytes > quota.bytes:
            return f"The workspace may hold {quota.bytes:,} bytes of documents."
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """The usage that one write adds: its bytes, less those of the document that it replaces."""

    is_new: bool
    size_bytes: int


def usage_of(workspace: Workspace) -> Usage:
    """Count the documents of `workspace` and their bytes; some milliseconds for 100,000 documents."""
    rows = Document.objects.in_workspace(workspace)
    total = rows.aggregate(total=Sum("size_bytes"))["total"]
    return Usage(documents=rows.count(), bytes=total or 0)


def check_jobs(workspace: Workspace) -> None:
    """Raise RateLimited when the workspace has as many open jobs as its quota allows."""
    most = quota_of(workspace).jobs
    if not most:
        return
    waiting = Job.objects.in_workspace(workspace).filter(state__in=OPEN_STATES)
    # Embedding jobs don't count: they are created automatically, one at a time.
    if waiting.exclude(kind=JobKind.EMBED)[:most].count() >= most:
        raise RateLimited(
            f"{most:,} jobs of this workspace wait or run, and no more may; come again when some are done.",
            code="too_many_jobs",
            retry_after_s=_RETRY_AFTER_S,
        )


def check_content(workspace: Workspace, addition: Addition) -> None:
    """Raise TooLarge when the addition would exceed the workspace's quota."""
    for error in filter(None, content_errors(workspace, [addition])):
        raise error


def content_errors(workspace: Workspace, additions: Sequence[Addition]) -> list[TooLarge | None]:
    """Return for each addition in turn the error if it exceeds the quota; None for those that fit."""
    return [
        TooLarge(f"{refusal} Delete some, or ask the operator for more.", code="over_quota")
        if refusal
        else None
        for refusal in refusals(workspace, additions)
    ]


def refusals(workspace: Workspace, additions: Sequence[Addition]) -> list[str]:
    """Return for each addition in turn the message if it exceeds the quota; '' for those that fit."""
    quota = quota_of(workspace)
    if not quota.limits_content:
        return ["" for _ in additions]
    usage, found = usage_of(workspace), []
    for addition in additions:
        wanted = replace(
            usage, documents=usage.documents + int(addition.is_new), bytes=usage.bytes + addition.size_bytes
        )
        adds = addition.is_new or addition.size_bytes > 0
        found.append(wanted.exceeded_limit(quota) if adds else "")
        usage = usage if found[-1] else wanted
    return found
