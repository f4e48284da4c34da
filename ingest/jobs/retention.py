"""How long the bytes of uploads are kept that became no document: as long as the upload can be tried again.

That is `KEBAB_KEEP_UPLOAD_DAYS` from the end of its job; what is in quarantine stays until it leaves it.
What nobody let go of because a worker was killed goes an hour after it was written, or the hour after that.
"""

import uuid
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from django.utils import timezone

from ingest.blobs import UPLOADS, quarantined_blobs, release_blobs, unneeded_blobs
from ingest.errors import JobNotOpen
from ingest.models import OPEN_STATES, ItemState, Job, JobItem, JobKind, JobState
from kebab.people.models import Workspace
from search.blobs import blobs_before, list_blobs

# Long after whoever writes a blob has also written the row that needs it.
_FORGOTTEN_AFTER = timedelta(hours=1)
# See `is_by_members`.
_IS_BY_MEMBERS = Q(kind=JobKind.INGEST_ARCHIVE) & (Q(state=JobState.SUCCEEDED) | Q(payload__blob=""))


def release_ended(workspace_id: uuid.UUID, job_id: uuid.UUID) -> None:
    """Let go of the bytes that an ended upload was the last to need.

    What failed can be tried again: of an archive that was ingested the members stay that are not done, of
    any other the archive.
    """
    job = Job.objects.in_workspace(workspace_id).get(pk=job_id)
    items = _items(job)
    if is_by_members(job):
        undone = unfinished(items)
        release_blobs(workspace_id, {*_blobs(items), *_own(job)} - _blobs(undone))
    elif job.state != JobState.SUCCEEDED:
        release_blobs(workspace_id, _blobs(items))
    elif not unfinished(items).exists():
        release_blobs(workspace_id, _own(job))


def is_by_members(job: Job) -> bool:
    """Whether an ended job's members are what is tried again: its archive was unpacked, and isn't kept."""
    return job.kind == JobKind.INGEST_ARCHIVE and (job.state == JobState.SUCCEEDED or not _own(job))


def unfinished(items: Any) -> Any:
    """Give the items to ingest that failed, or that their job did not come to."""
    return items.filter(action="ingest").exclude(state=ItemState.DONE)


def release_expired() -> int:
    """Let go of the bytes that were kept for a retry long enough; give the number of jobs."""
    return sum(_release(job) for job in _expired().iterator())


def release_forgotten() -> int:
    """Let go of all that is kept for nothing for an hour; give how many blobs that were."""
    before = timezone.now() - _FORGOTTEN_AFTER
    workspaces = Workspace.objects.values_list("pk", flat=True)
    return sum(_release_forgotten(pk, some, before) for pk in workspaces for some in list_blobs(pk))


def _release_forgotten(workspace_id: uuid.UUID, hashes: set[str], before: datetime) -> int:
    old = blobs_before(workspace_id, _forgotten(workspace_id, hashes), before)
    return release_blobs(workspace_id, old, _forgotten)


def _forgotten(workspace_id: uuid.UUID, hashes: set[str]) -> set[str]:
    # Open uploads before ended ones: one that ends in between is seen as ended.
    unneeded = unneeded_blobs(workspace_id, hashes)
    return unneeded - _kept_for_retry(workspace_id, unneeded)


def _kept_for_retry(workspace_id: uuid.UUID, hashes: set[str]) -> set[str]:
    if not hashes:
        return set()
    ended = Job.objects.in_workspace(workspace_id).filter(kind__in=UPLOADS).exclude(state__in=OPEN_STATES)
    ended = ended.exclude(source=None)
    unfinished_ = unfinished(JobItem.objects.in_workspace(workspace_id))
    is_whole = ~Q(state=JobState.SUCCEEDED) | Q(kind=JobKind.INGEST_DOCUMENT) & Exists(
        unfinished_.filter(job=OuterRef("pk"))
    )
    wholes = ended.filter(is_whole, payload__blob__in=list(hashes))
    by_members = ended.filter(_IS_BY_MEMBERS)
    members = unfinished_.filter(blob__in=list(hashes), job__in=by_members.values("pk"))
    return {*wholes.values_list("payload__blob", flat=True), *members.values_list("blob", flat=True)}


def check_kept(job: Job) -> None:
    """Raises JobNotOpen when the bytes of an upload that is to be tried again are not kept any more."""
    members = unfinished(_items(job))
    if is_by_members(job):
        is_gone = not members.exists() or members.filter(blob="").exists()
    else:
        is_gone = not _own(job)
    if is_gone:
        days = settings.KEBAB_KEEP_UPLOAD_DAYS
        raise JobNotOpen(f"The bytes of this upload were kept for {days} days and are gone; upload it again.")


def _expired() -> Any:
    """Ended uploads whose time is over, and of which something may be kept for a retry."""
    items = unfinished(JobItem.objects.filter(workspace=OuterRef("workspace"), job=OuterRef("pk")))
    is_document = Q(kind=JobKind.INGEST_DOCUMENT)
    has_own = ~Q(payload__blob="") & (~Q(state=JobState.SUCCEEDED) | is_document & Exists(items))
    kept_until = Now() - timedelta(days=settings.KEBAB_KEEP_UPLOAD_DAYS)
    ended = Job.objects.filter(kind__in=UPLOADS, finished_at__lt=kept_until)
    return ended.filter(has_own | _IS_BY_MEMBERS & Exists(items.exclude(blob="")))


def _release(job: Job) -> bool:
    """Let go of what is not in quarantine, and note that in the job, which is not looked at again then."""
    kept = _own(job) | _blobs(_items(job))
    gone = kept - quarantined_blobs(job.workspace_id, kept)
    if not gone:
        return False
    with transaction.atomic():
        if _own(job) & gone:
            rows = Job.objects.in_workspace(job.workspace_id).filter(pk=job.pk)
            rows.update(payload={**job.payload, "blob": ""})
        _items(job).filter(blob__in=gone).update(blob="")
    release_blobs(job.workspace_id, gone)
    return True


def _items(job: Job) -> Any:
    return JobItem.objects.in_workspace(job.workspace_id).filter(job=job.pk)


def _own(job: Job) -> set[str]:
    """The bytes as they were uploaded."""
    return {job.payload.get("blob", "")} - {""}


def _blobs(items: Any) -> set[str]:
    return set(items.exclude(blob="").values_list("blob", flat=True))
