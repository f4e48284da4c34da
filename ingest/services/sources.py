"""Sources and versions: created, changed, synced, deleted by a caller; each act is in the audit log."""

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from ingest.jobs.queue.request import (
    request_default_trust,
    request_source_deletion,
    request_sync,
    request_version_deletion,
)
from ingest.models import Job
from ingest.services import versions
from ingest.services.quotas import check_jobs
from ingest.services.source_definition import change_source, create_source, refuse_upload_source
from ingest.services.versions import AddedVersion
from kebab.errors import Forbidden, NotFound
from kebab.identity.caller import Access
from kebab.identity.models import Role
from kebab.people import audit
from search.access.restrictions import restrict
from search.corpus.trust_levels import BATCH, apply_default_trust
from search.models import Source, SourceKind, SourceVersion

_READERS = "readers"


def add_source(access: Access, fields: Mapping[str, Any]) -> Source:
    """Create a source and return it; with `readers` it is restricted from the start.

    Raises Forbidden when others than owners and admins name readers, Unprocessable for an unknown group, and
    the errors of `create_source`.
    """
    _check_readers(access, fields)
    with transaction.atomic():
        source = create_source(access, **_without_readers(fields))
        audit.record(access, "source.created", source.key, kind=source.kind)
        if _READERS in fields:
            _restrict(access, source, fields[_READERS])
    return source


def update_source(access: Access, source: Source, fields: Mapping[str, Any]) -> None:
    """Change the fields of a source and, with `readers`, its restriction.

    A new default trust applies at once to BATCH documents that state no other level, in a job to the others.
    Raises as `add_source` does, and the errors of `change_source`.
    """
    _check_readers(access, fields)
    own_fields = _without_readers(fields)
    with transaction.atomic():
        if own_fields or _READERS not in fields:
            change_source(source, own_fields)
            if "default_trust" in own_fields and apply_default_trust(source.workspace_id, source.pk) == BATCH:
                request_default_trust(source, requested_by=access.actor)
            audit.record(access, "source.changed", source.key, fields=sorted(own_fields))
        if _READERS in fields:
            _restrict(access, source, fields[_READERS])


def sync_source(access: Access, source: Source, *, version: str = "", embed: bool = True) -> Job:
    """Return the job that syncs a version of the source.

    Raises Conflict for a source that holds uploads, RateLimited for too many jobs, and the errors of
    `request_sync`.
    """
    refuse_upload_source(source)
    check_jobs(access.workspace)
    with transaction.atomic():
        job = request_sync(source, requested_by=access.actor, version=version, embed=embed)
        audit.record(access, "source.sync_asked", source.key, job=str(job.pk))
    return job


def delete_source(access: Access, source: Source) -> Job:
    """Return the job that deletes it with its documents. Raises the errors of `request_source_deletion`."""
    with transaction.atomic():
        job = request_source_deletion(source, requested_by=access.actor)
        audit.record(access, "source.deleted", source.key, job=str(job.pk))
    return job


def add_version(access: Access, source: Source, *, tag: str, title: str) -> AddedVersion:
    """Create the version `tag`; return it with the job that reads it.

    Raises RateLimited for too many jobs, except for upload sources, which need none, and the errors of
    `versions.add_version`.
    """
    if source.kind != SourceKind.UPLOAD:
        check_jobs(access.workspace)
    with transaction.atomic():
        added = versions.add_version(source, tag=tag, title=title, requested_by=access.actor)
        audit.record(access, "version.created", f"{source.key}@{tag}")
    return added


def delete_version(access: Access, source: Source, tag: str) -> Job:
    """Return the job that deletes it with its documents. Raises NotFound when there is none."""
    named = SourceVersion.objects.in_workspace(source.workspace_id).filter(source=source, tag=tag)
    if not tag or not named.exists():
        raise NotFound
    with transaction.atomic():
        job = request_version_deletion(source, tag, requested_by=access.actor)
        audit.record(access, "version.deleted", f"{source.key}@{tag}", job=str(job.pk))
    return job


def _check_readers(access: Access, fields: Mapping[str, Any]) -> None:
    may_restrict = access.role is not None and access.role.level >= Role.ADMIN.level
    if _READERS in fields and not may_restrict:
        raise Forbidden(
            "Only an owner or admin who has signed in may say who reads a source; leave readers out."
        )


def _restrict(access: Access, source: Source, groups: Collection[UUID] | None) -> None:
    restriction = restrict(source, groups)
    if restriction.before != restriction.after:
        audit.record(access, "source.readers_changed", source.key, **restriction.facts)


def _without_readers(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name != _READERS}
