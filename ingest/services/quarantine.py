"""Refused and quarantined files: retried and deleted by a caller, each act recorded in the audit log."""

from django.db import transaction

from ingest.jobs.items.quarantine import delete_entry, request_retry
from ingest.models import Job, Unreadable
from ingest.services.quotas import check_jobs
from kebab.identity.caller import Access
from kebab.people import audit


def retry_unreadable(access: Access, entry: Unreadable) -> Job:
    """Return the job that reads the file once more. Raises RateLimited and the errors of `request_retry`."""
    check_jobs(access.workspace)
    with transaction.atomic():
        job = request_retry(entry, requested_by=access.actor)
        _record(access, "quarantine.retried", entry, job=str(job.pk))
    return job


def delete_unreadable(access: Access, entry: Unreadable) -> None:
    """Delete an upload that could not be read, with its bytes. Raises the errors of `delete_entry`."""
    with transaction.atomic():
        delete_entry(entry)
        _record(access, "quarantine.deleted", entry)


def _record(access: Access, action: str, entry: Unreadable, **detail: str) -> None:
    audit.record(access, action, str(entry.pk), source=entry.version.source.key, path=entry.path, **detail)
