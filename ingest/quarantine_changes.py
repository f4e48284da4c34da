"""Quarantined files tried again and forgotten by a caller, each act with its row in the audit log."""

from django.db import transaction

from ingest.jobs.quarantine import delete_quarantined, try_again
from ingest.models import Job, Unreadable
from kebab.people import audit
from kebab.people.access import Access


def retry_quarantined(access: Access, entry: Unreadable) -> Job:
    """Give the job that reads the file once more. Raises what `try_again` raises."""
    with transaction.atomic():
        job = try_again(entry, requested_by=access.actor)
        audit.record(
            access,
            "quarantine.retried",
            str(entry.pk),
            source=entry.version.source.key,
            path=entry.path,
            job=str(job.pk),
        )
    return job


def forget_quarantined(access: Access, entry: Unreadable) -> None:
    """Forget an upload in quarantine with its bytes. Raises what `delete_quarantined` raises."""
    with transaction.atomic():
        delete_quarantined(entry)
        audit.record(
            access,
            "quarantine.deleted",
            str(entry.pk),
            source=entry.version.source.key,
            path=entry.path,
        )
