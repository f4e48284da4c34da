"""What the ends of uploads mean for the source that they go into."""

import uuid

from ingest.models import OPEN_STATES, UPLOAD_KINDS, Job
from search.libraries.source_stats import note_uploads


def note_ended_uploads(workspace_id: uuid.UUID, source_id: uuid.UUID, *, is_indexed: bool = False) -> None:
    """Say in an upload source how it stands, in the transaction in which one or more of its uploads end.

    `is_indexed` when one has succeeded. The source is locked: of uploads that end together the last one finds
    none that is open.
    """
    uploads = Job.objects.in_workspace(workspace_id).filter(kind__in=UPLOAD_KINDS, source=source_id)
    more_follow = uploads.filter(state__in=OPEN_STATES).exists()
    note_uploads(workspace_id, source_id, is_indexed=is_indexed, more_follow=more_follow)
