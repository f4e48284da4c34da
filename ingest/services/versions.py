"""Versions of a source, added for people and for the sync that follows its tags."""

from dataclasses import dataclass

from django.db import IntegrityError, transaction

from ingest.jobs.queue.request import request_sync
from ingest.models import Job
from kebab.errors import Conflict
from search.models import Source, SourceKind, SourceVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedVersion:
    """A new version and the job that reads it; None for upload sources, which are filled by uploads."""

    version: SourceVersion
    job: Job | None


def add_version(
    source: Source, *, tag: str, title: str, requested_by: str, embed: bool = True
) -> AddedVersion:
    """Create the version `tag`: of a folder as it is now, of a repository at that tag or branch.

    Without a title it gets the one in the source's project file.
    Raises Conflict if it exists.
    """
    title = title or source.project.get("versions", {}).get(tag, "")
    try:
        with transaction.atomic():
            version = SourceVersion.objects.create(
                workspace_id=source.workspace_id, source=source, tag=tag, title=title
            )
    except IntegrityError as error:
        raise Conflict(
            f"The source {source.key!r} has a version {tag!r} already; choose another tag.",
            code="version_exists",
        ) from error
    is_read = source.kind != SourceKind.UPLOAD
    job = request_sync(source, requested_by=requested_by, version=tag, embed=embed) if is_read else None
    return AddedVersion(version=version, job=job)
