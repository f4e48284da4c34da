"""Retention of the blobs of uploads that became no document: as long as the upload can be retried.

That is `KEBAB_KEEP_UPLOAD_DAYS` from the end of its job; quarantined files stay until they leave quarantine.
Orphaned blobs, which a killed worker did not delete, are deleted one to two hours after they were written.
"""

import uuid
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.fields.json import KT
from django.db.models.functions import Now
from django.utils import timezone

from ingest.blob_cleanup import quarantined_blobs, quarantined_uploads, release_blobs, unneeded_blobs
from ingest.models import MEMBER_KINDS, OPEN_STATES, UPLOAD_KINDS, ItemState, Job, JobItem, JobKind, JobState
from kebab.identity.models import Workspace
from search.corpus.blobs import blobs_before, has_blob, list_blobs, lock_blobs

# Long after the writer of a blob has also written the row that needs it.
_ORPHANED_AFTER = timedelta(hours=1)
# With more workspaces than this only some are checked each hour: the check takes 12 ms per workspace.
_WORKSPACES_A_TURN = 500
# See `is_retried_by_member`.
_IS_RETRIED_BY_MEMBER = Q(kind__in=MEMBER_KINDS) & (Q(state=JobState.SUCCEEDED) | Q(payload__blob=""))


def release_upload(workspace_id: uuid.UUID, job_id: uuid.UUID) -> None:
    """Delete the blobs of an ended upload that nothing else needs, except those that a retry would need.

    A retry needs the unfinished members of an archive that was ingested, and the whole of any other upload.
    """
    job = Job.objects.in_workspace(workspace_id).get(pk=job_id)
    items = JobItem.objects.of_job(job)
    if is_retried_by_member(job):
        undone = unfinished_items(items)
        release_blobs(workspace_id, {*_item_blobs(items), *_uploaded_blobs(job)} - _item_blobs(undone))
    elif job.state != JobState.SUCCEEDED:
        release_blobs(workspace_id, _item_blobs(items))
    elif not unfinished_items(items).exists():
        release_blobs(workspace_id, _uploaded_blobs(job))


def is_retried_by_member(job: Job) -> bool:
    """Return whether a retry of the ended job starts from its members: the archive was unpacked, or its blob
    is gone.
    """
    return job.kind in MEMBER_KINDS and (job.state == JobState.SUCCEEDED or not _uploaded_blobs(job))


def unfinished_items(items: Any) -> Any:
    """Return those of `items` to ingest that failed or were not reached."""
    return items.filter(action="ingest").exclude(state=ItemState.DONE)


def release_expired() -> int:
    """Delete the blobs whose retention for a retry is over; return the number of jobs they belonged to."""
    return sum(_release_expired_upload(job) for job in _expired_uploads().iterator())


def release_orphaned_blobs() -> int:
    """Delete the blobs that have been orphaned for an hour; return their number.

    With very many workspaces each call checks some of them, all in turn.
    """
    before = timezone.now() - _ORPHANED_AFTER
    workspaces = Workspace.objects.order_by("pk").values_list("pk", flat=True)
    turns = -(-workspaces.count() // _WORKSPACES_A_TURN) or 1
    first = _WORKSPACES_A_TURN * (int(timezone.now().timestamp() // 3_600) % turns)
    turn = workspaces[first : first + _WORKSPACES_A_TURN]
    return sum(_release_old_orphans(pk, some, before) for pk in turn for some in list_blobs(pk))


def _release_old_orphans(workspace_id: uuid.UUID, hashes: set[str], before: datetime) -> int:
    old = blobs_before(workspace_id, orphaned_blobs(workspace_id, hashes), before)
    return release_blobs(workspace_id, old, orphaned_blobs)


def orphaned_blobs(workspace_id: uuid.UUID, hashes: set[str]) -> set[str]:
    """Return the orphaned blobs among `hashes`: no row needs them, nor the retry of an upload."""
    # Open uploads are read before ended ones: one that ends in between is seen as ended.
    unneeded = unneeded_blobs(workspace_id, hashes)
    return unneeded - _retryable_blobs(workspace_id, unneeded)


def _retryable_blobs(workspace_id: uuid.UUID, hashes: set[str]) -> set[str]:
    if not hashes:
        return set()
    uploads = Job.objects.in_workspace(workspace_id).filter(kind__in=UPLOAD_KINDS)
    ended = uploads.exclude(state__in=OPEN_STATES).exclude(source=None)
    unfinished_rows = unfinished_items(JobItem.objects.in_workspace(workspace_id))
    is_whole = ~Q(state=JobState.SUCCEEDED) | Q(kind=JobKind.INGEST_DOCUMENT) & Exists(
        unfinished_rows.filter(job=OuterRef("pk"))
    )
    wholes = ended.filter(is_whole, payload__blob__in=list(hashes))
    by_members = ended.filter(_IS_RETRIED_BY_MEMBER)
    members = unfinished_rows.filter(blob__in=list(hashes), job__in=by_members.values("pk"))
    return {*wholes.values_list("payload__blob", flat=True), *members.values_list("blob", flat=True)}


def hold_retained_blobs(job: Job) -> None:
    """Hold the blob of an upload that this transaction retries; see `search.corpus.blobs.lock_blobs`."""
    if not is_retried_by_member(job):
        lock_blobs(job.workspace_id, _uploaded_blobs(job))


def missing_upload_message(job: Job) -> str:
    """Return why an ended upload can't be retried; '' while its bytes are retained.

    The blobs of an archive's members, which can be thousands, are not checked: missing ones fail one by one.
    """
    if is_retried_by_member(job):
        members = unfinished_items(JobItem.objects.of_job(job))
        is_kept = members.exists() and not members.filter(blob="").exists()
    else:
        is_kept = any(has_blob(job.workspace_id, blob) for blob in _uploaded_blobs(job))
    if is_kept:
        return ""
    days = settings.KEBAB_KEEP_UPLOAD_DAYS
    return f"The bytes of this upload are gone, which are kept for {days} days at most; upload it again."


def _expired_uploads() -> Any:
    """Return the ended uploads whose retention is over and that still have a blob outside quarantine."""
    in_quarantine = quarantined_uploads(OuterRef("workspace"))
    items = unfinished_items(JobItem.objects.filter(workspace=OuterRef("workspace"), job=OuterRef("pk")))
    members = items.exclude(blob="").exclude(Exists(in_quarantine.filter(content_hash=OuterRef("blob"))))
    is_document = Q(kind=JobKind.INGEST_DOCUMENT)
    has_own = (
        ~Q(own="")
        & (~Q(state=JobState.SUCCEEDED) | is_document & Exists(items))
        & ~Exists(in_quarantine.filter(content_hash=OuterRef("own")))
    )
    kept_until = Now() - timedelta(days=settings.KEBAB_KEEP_UPLOAD_DAYS)
    ended = Job.objects.filter(kind__in=UPLOAD_KINDS, finished_at__lt=kept_until)
    return ended.annotate(own=KT("payload__blob")).filter(has_own | _IS_RETRIED_BY_MEMBER & Exists(members))


def _release_expired_upload(job: Job) -> bool:
    """Delete the blobs outside quarantine and clear them in the job, so that it is not selected again."""
    kept = _uploaded_blobs(job) | _item_blobs(JobItem.objects.of_job(job))
    gone = kept - quarantined_blobs(job.workspace_id, kept)
    if not gone:
        return False
    with transaction.atomic():
        if _uploaded_blobs(job) & gone:
            rows = Job.objects.in_workspace(job.workspace_id).filter(pk=job.pk)
            rows.update(payload={**job.payload, "blob": ""})
        JobItem.objects.of_job(job).filter(blob__in=gone).update(blob="")
    release_blobs(job.workspace_id, gone)
    return True


def _uploaded_blobs(job: Job) -> set[str]:
    """Return the hash of the blob as it was uploaded; empty once it was deleted."""
    return {job.payload.get("blob", "")} - {""}


def _item_blobs(items: Any) -> set[str]:
    return set(items.exclude(blob="").values_list("blob", flat=True))
