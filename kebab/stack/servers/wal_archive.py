"""The WAL archive of the embedded PostgreSQL: settings, commands and folders."""

import os
import shlex
from pathlib import Path

from kebab.stack.errors import PathRefused
from kebab.stack.paths import create_folder
from kebab.stack.servers.os_user import Account

# The most seconds of acknowledged writes that are lost with the disk of the database.
_SEGMENT_LIMIT_S = 60
# Copied under a temporary name, synced, then renamed. An existing file is never overwritten: another content
# under the same name is an error that Postgres logs and retries.
_COPY = (
    'if test -e {there}/%f; then cmp -s "%p" {there}/%f; else cp "%p" {there}/%f.tmp'
    " && sync {there}/%f.tmp && mv {there}/%f.tmp {there}/%f && sync {there}; fi"
)


def wal_settings(archive: Path) -> dict[str, str]:
    """Return PostgreSQL's settings for an archive."""
    there = shlex.quote(str(archive / "wal")).replace("%", "%%")
    return {
        "archive_mode": "on",
        "archive_command": _COPY.format(there=there),
        "archive_timeout": str(_SEGMENT_LIMIT_S),
    }


def restore_command(archive: Path) -> str:
    """Return the command with which PostgreSQL fetches a WAL segment from an archive."""
    there = shlex.quote(str(archive / "wal")).replace("%", "%%")
    return f'cp {there}/%f "%p"'


def prepare_archive(archive: Path, account: Account | None) -> None:
    """Create the archive's folders, the WAL's for the user that Postgres runs as. Raises PathRefused."""
    create_folder(archive, 0o711)
    create_folder(archive / "blobs", 0o700)
    if create_folder(archive / "wal", 0o700) and account is not None:
        os.chown(archive / "wal", account.uid, account.gid)
    if account is not None and not account.can_reach(archive / "wal"):
        raise PathRefused(
            f"The user {account.name}, as whom Postgres runs, cannot reach {archive / 'wal'}; "
            "set KEBAB_WAL_ARCHIVE to a folder that it can walk to."
        )
