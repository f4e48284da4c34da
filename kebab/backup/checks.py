"""The check of the archive for `kebab doctor`: it exists, and PostgreSQL can write to it."""

from django.conf import settings
from django.db import connection

from kebab.backup.archive import archive_folder
from kebab.health.checks import CheckResult, failed_result, ok_result, warning_result

_NAME = "archive"
_ARCHIVER = """
SELECT current_setting('archive_mode') <> 'off', last_archived_time, last_failed_wal,
    coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false)
FROM pg_stat_archiver
"""


def check_archive(repair: bool = False) -> CheckResult:
    """Check that WAL is archived, if an archive is configured."""
    archive = archive_folder()
    if archive is None or not settings.KEBAB_EMBEDDED_POSTGRES:
        return ok_result(_NAME, "none was asked for: a backup leads to its own end")
    with connection.cursor() as cursor:
        cursor.execute(_ARCHIVER)
        is_on, last_archived, failed_wal, is_failing = cursor.fetchone()
    if not is_on:
        return warning_result(
            _NAME, "Postgres runs without it", "Restart the stack with KEBAB_WAL_ARCHIVE set."
        )
    if is_failing:
        remedy = (
            "See logs/postgres.log; make room there, or let the user that Postgres runs as write into it."
        )
        return failed_result(_NAME, f"{archive / 'wal'} does not take {failed_wal}: the log piles up", remedy)
    if not (archive / "blobs").is_dir():
        return failed_result(_NAME, f"{archive / 'blobs'} is gone", "Mount it again, or restart the stack.")
    return ok_result(_NAME, f"{archive} has all up to {last_archived or 'now, which is nothing yet'}")
