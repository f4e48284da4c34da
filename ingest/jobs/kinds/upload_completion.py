"""The state of an upload source when its upload jobs end."""

import uuid

from ingest.models import OPEN_STATES, UPLOAD_KINDS, Job
from search.libraries.source_stats import refresh_upload_stats


def update_upload_source(workspace_id: uuid.UUID, source_id: uuid.UUID, *, is_indexed: bool = False) -> None:
    """Update the state of an upload source, in the transaction in which one or more of its uploads end.

    `is_indexed` when one has succeeded. The source is locked: of uploads that end concurrently the last one
    finds none that is open.
    """
    uploads = Job.objects.in_workspace(workspace_id).filter(kind__in=UPLOAD_KINDS, source=source_id)
    more_follow = uploads.filter(state__in=OPEN_STATES).exists()
    refresh_upload_stats(workspace_id, source_id, is_indexed=is_indexed, more_follow=more_follow)
