"""Deletion of blobs that nothing needs: no document, no open upload, no quarantined file, no web page."""

import uuid
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from django.db import transaction

from ingest.models import OPEN_STATES, UPLOAD_KINDS, Job, JobItem, Unreadable, WebPage
from kebab.backup.deletion_lock import may_delete
from kebab.tenancy.current_workspace import acting_in
from search.corpus.blobs import blob_name, delete_blobs, has_blob, lock_blobs
from search.models import Document, SourceKind

# Blobs locked at once: a writer that needs one of them again waits until all are deleted.
_AT_ONCE = 50


def unneeded_blobs(workspace_id: uuid.UUID, hashes: set[str]) -> set[str]:
    """Return those of `hashes` that no row of the workspace needs."""
    if not hashes:
        return set()
    candidates = list(hashes)
    documents = Document.objects.in_workspace(workspace_id).filter(content_hash__in=candidates)
    uploads = Job.objects.in_workspace(workspace_id).filter(
        kind__in=UPLOAD_KINDS, state__in=OPEN_STATES, payload__blob__in=candidates
    )
    members = JobItem.objects.in_workspace(workspace_id).filter(
        blob__in=candidates, job__workspace=workspace_id, job__state__in=OPEN_STATES
    )
    pages = WebPage.objects.in_workspace(workspace_id).filter(content_hash__in=candidates)
    # Uploads are read before documents: an upload that ends in between is a document by then.
    waiting = {*uploads.values_list("payload__blob", flat=True), *members.values_list("blob", flat=True)}
    return hashes - {
        *waiting,
        *documents.values_list("content_hash", flat=True),
        *pages.values_list("content_hash", flat=True),
        *quarantined_blobs(workspace_id, candidates),
    }


def release_blobs(
    workspace_id: uuid.UUID,
    hashes: Iterable[str],
    unneeded: Callable[[uuid.UUID, set[str]], set[str]] = unneeded_blobs,
) -> int:
    """Delete the blobs among `hashes` that nothing needs and return their number; '' is ignored.

    Deletes none during a backup or an export of the workspace: the hourly search for orphaned blobs finds
    them later. A writer that starts to need one meanwhile is either seen by `unneeded`, or finds the blob
    gone and stores it again.
    """
    # Under another workspace no row that needs any of them would be visible.
    with acting_in(workspace_id):
        return _delete_unneeded(workspace_id, set(hashes) - {""}, unneeded)


def _delete_unneeded(
    workspace_id: uuid.UUID, hashes: set[str], unneeded: Callable[[uuid.UUID, set[str]], set[str]]
) -> int:
    found = sorted(unneeded(workspace_id, hashes))
    n_released = 0
    for start in range(0, len(found), _AT_ONCE):
        with transaction.atomic():
            if not may_delete(workspace_id):
                return n_released
            held = set(found[start : start + _AT_ONCE])
            lock_blobs(workspace_id, held)
            gone = unneeded(workspace_id, held)
            delete_blobs(workspace_id, gone)
            n_released += len(gone)
    return n_released


def needed_blob_names() -> Iterator[str]:
    """Return the names of all blobs that rows of any workspace need."""
    documents = Document.objects.order_by().values_list("workspace_id", "content_hash")
    pages = WebPage.objects.exclude(content_hash="").values_list("workspace_id", "content_hash")
    for workspace_id, hash_ in chain(documents.iterator(), pages.iterator()):
        yield blob_name(workspace_id, hash_)
    jobs = Job.objects.filter(kind__in=UPLOAD_KINDS).values_list("workspace_id", "payload__blob")
    items = JobItem.objects.exclude(blob="").values_list("workspace_id", "blob")
    unreadable = Unreadable.objects.filter(is_quarantined=True).values_list("workspace_id", "content_hash")
    for workspace_id, hash_ in chain(jobs.iterator(), items.iterator(), unreadable.iterator()):
        if hash_ and has_blob(workspace_id, hash_):
            yield blob_name(workspace_id, hash_)


def quarantined_blobs(workspace_id: uuid.UUID, hashes: Iterable[str]) -> set[str]:
    """Return those of `hashes` that belong to a quarantined upload, which can be retried."""
    entries = quarantined_uploads(workspace_id).filter(content_hash__in=list(hashes))
    return set(entries.values_list("content_hash", flat=True))


def quarantined_uploads(workspace: Any) -> Any:
    """Return the quarantined uploads of `workspace`, an id or an expression for one."""
    return Unreadable.objects.filter(
        workspace=workspace,
        is_quarantined=True,
        version__workspace=workspace,
        version__source__workspace=workspace,
        version__source__kind=SourceKind.UPLOAD,
    )
