"""Attention that ended jobs need: they failed, or refused files."""

from collections.abc import Mapping
from typing import Any

from ingest.models import Job, JobKind, JobState
from ingest.skip_messages import UNREADABLE


def count_refused(kind: str, counts: Mapping[str, Any]) -> int:
    """Return the number of files that failed or were refused for their content.

    Of a document that a person uploaded any reason counts; rules leave out other files on purpose.
    """
    skipped: Mapping[str, int] = counts.get("skipped", {})
    is_upload = kind == JobKind.INGEST_DOCUMENT
    refused = sum(count for reason, count in skipped.items() if is_upload or reason in UNREADABLE)
    failed: Mapping[str, int] = counts.get("failed", {})
    return refused + sum(failed.values())


def record_attention(job: Job, state: JobState, counts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the ended job that say whether it needs attention.

    `job.counts` are those of its listing, `counts` the final ones. Files that an earlier sync refused need
    attention again only if nobody has dismissed that sync; the newest sync alone is marked.
    """
    refused = count_refused(job.kind, counts)
    was_marked = state != JobState.CANCELLED and bool(_unmark_earlier_jobs(job, state))
    is_new = refused > count_refused(job.kind, job.counts)
    needs_attention = state == JobState.FAILED or is_new or (was_marked and refused > 0)
    return {"refused_items": refused, "needs_attention": needs_attention}


def _unmark_earlier_jobs(job: Job, state: JobState) -> int:
    """Unmark the jobs whose outcome this one replaces; return their number."""
    marked = Job.objects.in_workspace(job.workspace_id).filter(kind=job.kind, needs_attention=True)
    if job.is_whole_sync:
        marked = marked.filter(source=job.source_id)
    elif job.kind != JobKind.EMBED or state != JobState.SUCCEEDED:
        return 0
    return marked.exclude(pk=job.pk).update(needs_attention=False)
