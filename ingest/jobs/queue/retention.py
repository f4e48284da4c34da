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
from django.db.models.fields.json import KT
from django.db.models.functions import Now
from django.utils import timezone

from ingest.blob_cleanup import quarantined_blobs, quarantined_uploads, release_blobs, unneeded_blobs
from ingest.models import OPEN_STATES, UPLOAD_KINDS, ItemState, Job, JobItem, JobKind, JobState
from kebab.people.models import Workspace
from search.corpus.blobs import blobs_before, has_blob, hold_blobs, list_blobs

# Long after whoever writes a blob has also written the row that needs it.
_FORGOTTEN_AFTER = timedelta(hours=1)
# Of more workspaces than these some are looked at each hour: what one keeps takes 12 ms to look at.
_WORKSPACES_A_TURN = 500
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
    """Return whether an ended job's members are what is tried again: its archive was unpacked, and isn't
    kept.
    """
    return job.kind == JobKind.INGEST_ARCHIVE and (job.state == JobState.SUCCEEDED or not _own(job))


def unfinished(items: Any) -> Any:
    """Return the items to ingest that failed, or that their job did not come to."""
    return items.filter(action="ingest").exclude(state=ItemState.DONE)


def release_expired() -> int:
    """Let go of the bytes that were kept for a retry long enough; give the number of jobs."""
    return sum(_release(job) for job in _expired().iterator())


def release_forgotten() -> int:
    """Let go of all that is kept for nothing for an hour; give how many blobs that were.

    Of very many workspaces it looks at some each hour, at all of them in turn.
    """
    before = timezone.now() - _FORGOTTEN_AFTER
    workspaces = Workspace.objects.order_by("pk").values_list("pk", flat=True)
    turns = -(-workspaces.count() // _WORKSPACES_A_TURN) or 1
    first = _WORKSPACES_A_TURN * (int(timezone.now().timestamp() // 3_600) % turns)
    turn = workspaces[first : first + _WORKSPACES_A_TURN]
    return sum(_release_forgotten(pk, some, before) for pk in turn for some in list_blobs(pk))


def _release_forgotten(workspace_id: uuid.UUID, hashes: set[str], before: datetime) -> int:
    old = blobs_before(workspace_id, forgotten_blobs(workspace_id, hashes), before)
    return release_blobs(workspace_id, old, forgotten_blobs)


def forgotten_blobs(workspace_id: uuid.UUID, hashes: set[str]) -> set[str]:
    """Return those of `hashes` that are kept for nothing: neither needed, nor for an upload's next try."""
    # Open uploads before ended ones: one that ends in between is seen as ended.
    unneeded = unneeded_blobs(workspace_id, hashes)
    return unneeded - _kept_for_retry(workspace_id, unneeded)


def _kept_for_retry(workspace_id: uuid.UUID, hashes: set[str]) -> set[str]:
    if not hashes:
        return set()
    uploads = Job.objects.in_workspace(workspace_id).filter(kind__in=UPLOAD_KINDS)
    ended = uploads.exclude(state__in=OPEN_STATES).exclude(source=None)
    unfinished_ = unfinished(JobItem.objects.in_workspace(workspace_id))
    is_whole = ~Q(state=JobState.SUCCEEDED) | Q(kind=JobKind.INGEST_DOCUMENT) & Exists(
        unfinished_.filter(job=OuterRef("pk"))
    )
    wholes = ended.filter(is_whole, payload__blob__in=list(hashes))
    by_members = ended.filter(_IS_BY_MEMBERS)
    members = unfinished_.filter(blob__in=list(hashes), job__in=by_members.values("pk"))
    return {*wholes.values_list("payload__blob", flat=True), *members.values_list("blob", flat=True)}


def hold_kept(job: Job) -> None:
    """Hold the bytes of an upload that this transaction tries again; see `search.corpus.blobs.hold_blobs`."""
    if not is_by_members(job):
        hold_blobs(job.workspace_id, _own(job))


def why_not_kept(job: Job) -> str:
    """Return why an ended upload can't be tried again; '' while its bytes are kept.

    Of an archive's members, which can be thousands, the bytes are not looked at: those that are gone fail by
    themselves.
    """
    if is_by_members(job):
        members = unfinished(_items(job))
        is_kept = members.exists() and not members.filter(blob="").exists()
    else:
        is_kept = any(has_blob(job.workspace_id, blob) for blob in _own(job))
    if is_kept:
        return ""
    days = settings.KEBAB_KEEP_UPLOAD_DAYS
    return f"The bytes of this upload are gone, which are kept for {days} days at most; upload it again."


def _expired() -> Any:
    """Ended uploads whose time is over, and of which something is kept for a retry, not in quarantine."""
    in_quarantine = quarantined_uploads(OuterRef("workspace"))
    items = unfinished(JobItem.objects.filter(workspace=OuterRef("workspace"), job=OuterRef("pk")))
    members = items.exclude(blob="").exclude(Exists(in_quarantine.filter(content_hash=OuterRef("blob"))))
    is_document = Q(kind=JobKind.INGEST_DOCUMENT)
    has_own = (
        ~Q(own="")
        & (~Q(state=JobState.SUCCEEDED) | is_document & Exists(items))
        & ~Exists(in_quarantine.filter(content_hash=OuterRef("own")))
    )
    kept_until = Now() - timedelta(days=settings.KEBAB_KEEP_UPLOAD_DAYS)
    ended = Job.objects.filter(kind__in=UPLOAD_KINDS, finished_at__lt=kept_until)
    return ended.annotate(own=KT("payload__blob")).filter(has_own | _IS_BY_MEMBERS & Exists(members))


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
    """Return the bytes as they were uploaded."""
    return {job.payload.get("blob", "")} - {""}


def _blobs(items: Any) -> set[str]:
    return set(items.exclude(blob="").values_list("blob", flat=True))
