"""Finding work that nobody does: hints that got lost, leases that ran out."""

from django.db import connection

from ingest.jobs.hints import hint_due_jobs

# Any number; what matters is that all sweeps use the same.
_LOCK = 0x6B656261


def sweep() -> int:
    """Send hints for all due jobs, unless another sweep is at it; give how many."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [_LOCK])
        if not cursor.fetchone()[0]:
            return 0
        try:
            return hint_due_jobs()
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])
