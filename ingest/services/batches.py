"""Uploads of many files: the job of the first file leads those of the others."""

from uuid import UUID

from ingest.models import UPLOAD_KINDS, Job
from kebab.errors import FieldError, InvalidRequest
from search.models import Source


def check_batch(source: Source, batch: UUID | None, requested_by: str) -> None:
    """Raise InvalidRequest unless `batch` is the first job of an upload of the same caller to the source."""
    if batch is None:
        return
    first = Job.objects.in_workspace(source.workspace_id).filter(
        pk=batch, batch=None, source=source, kind__in=UPLOAD_KINDS, requested_by=requested_by
    )
    if not first.exists():
        message = "Give the job of your first upload to this source, or leave it out."
        raise InvalidRequest(f"batch: {message}", errors=[FieldError(field="batch", message=message)])
