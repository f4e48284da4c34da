"""What a workspace's quota says to more documents and more jobs.

A quota is looked at before what it limits is written, not under a lock: what is written at the same moment
may pass it by as much as that is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db.models import Sum

from ingest.models import OPEN_STATES, Job, JobKind
from kebab.http.api.errors import RateLimited, TooLarge
from kebab.people.models import Workspace
from kebab.people.quotas import Quota, quota_of
from search.models import Document

_RETRY_AFTER_S = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a workspace holds."""

    documents: int
    bytes: int

    def exceeded(self, quota: Quota) -> str:
        """Return which limit this is above; '' when it is within all."""
        if quota.documents and self.documents > quota.documents:
            return f"The workspace may hold {quota.documents:,} documents."
        if quota.bytes and self.bytes > quota.bytes:
            return f"The workspace may hold {quota.bytes:,} bytes of documents."
        return ""

    def with_more(self, documents: int, size_bytes: int) -> "Usage":
        """Return what it would hold with so much more."""
        return replace(self, documents=self.documents + documents, bytes=self.bytes + size_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """What one write adds: its bytes, less those of the document that it replaces."""

    is_new: bool
    size_bytes: int


def usage_of(workspace: Workspace) -> Usage:
    """Count what `workspace` holds; some milliseconds for 100,000 documents."""
    rows = Document.objects.in_workspace(workspace)
    total = rows.aggregate(total=Sum("size_bytes"))["total"]
    return Usage(documents=rows.count(), bytes=total or 0)


def check_jobs(workspace: Workspace) -> None:
    """Raises RateLimited when as many of its jobs wait and run as may."""
    most = quota_of(workspace).jobs
    if not most:
        return
    waiting = Job.objects.in_workspace(workspace).filter(state__in=OPEN_STATES)
    # Embedding asks for itself: one job at a time, whatever was handed in.
    if waiting.exclude(kind=JobKind.EMBED)[:most].count() >= most:
        raise RateLimited(
            f"{most:,} jobs of this workspace wait or run, and no more may; come again when some are done.",
            code="too_many_jobs",
            retry_after_s=_RETRY_AFTER_S,
        )


def check_content(workspace: Workspace, addition: Addition) -> None:
    """Raises TooLarge when a document more, or of so many bytes, is more than the workspace may hold."""
    (refusal,) = refusals(workspace, [addition])
    if refusal:
        raise TooLarge(f"{refusal} Delete some, or ask the operator for more.", code="over_quota")


def refusals(workspace: Workspace, additions: Sequence[Addition]) -> list[str]:
    """Say of each addition in turn why it doesn't fit any more; '' of those that do."""
    quota = quota_of(workspace)
    if not quota.is_of_content:
        return ["" for _ in additions]
    usage, found = usage_of(workspace), []
    for addition in additions:
        wanted = usage.with_more(int(addition.is_new), addition.size_bytes)
        adds = addition.is_new or addition.size_bytes > 0
        found.append(wanted.exceeded(quota) if adds else "")
        usage = usage if found[-1] else wanted
    return found
