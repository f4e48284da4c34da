"""Letting go of bytes that nothing needs any more: no document, and no upload that waits to be ingested."""

import uuid
from collections.abc import Iterable

from ingest.models import OPEN_STATES, Job, JobKind
from search.blobs import drop_unused_blobs


def release_blobs(workspace_id: uuid.UUID, hashes: Iterable[str]) -> int:
    """Delete the blobs among `hashes` that are not in use; give how many."""
    candidates = set(hashes)
    if not candidates:
        return 0
    uploads = Job.objects.in_workspace(workspace_id).filter(
        kind=JobKind.INGEST_DOCUMENT, state__in=OPEN_STATES, payload__blob__in=list(candidates)
    )
    return drop_unused_blobs(workspace_id, candidates - set(uploads.values_list("payload__blob", flat=True)))
