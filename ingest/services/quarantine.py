"""Quarantined files tried again and forgotten by a caller, each act with its row in the audit log."""

from django.db import transaction

from ingest.jobs.items.quarantine import delete_quarantined, try_again
from ingest.models import Job, Unreadable
from ingest.services.quotas import check_jobs
from kebab.people import audit
from kebab.people.access.caller import Access


def retry_quarantined(access: Access, entry: Unreadable) -> Job:
    """Return the job that reads the file once more. Raises RateLimited, and what `try_again` raises."""
    check_jobs(access.workspace)
    with transaction.atomic():
        job = try_again(entry, requested_by=access.actor)
        _record(access, "quarantine.retried", entry, job=str(job.pk))
    return job


def forget_quarantined(access: Access, entry: Unreadable) -> None:
    """Forget an upload in quarantine with its bytes. Raises what `delete_quarantined` raises."""
    with transaction.atomic():
        delete_quarantined(entry)
        _record(access, "quarantine.deleted", entry)


def _record(access: Access, action: str, entry: Unreadable, **detail: str) -> None:
    audit.record(access, action, str(entry.pk), source=entry.version.source.key, path=entry.path, **detail)
