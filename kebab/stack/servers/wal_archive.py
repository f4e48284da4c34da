"""Where the embedded PostgreSQL copies its log to, piece by piece, and fetches it from again."""

import os
import shlex
from pathlib import Path

from kebab.stack.errors import PathRefused
from kebab.stack.paths import make_folder
from kebab.stack.servers.os_user import Account

# At most so much of what was acknowledged is lost with the disk of the database.
_SEGMENT_LIMIT_S = 60
# Under another name first, brought to the disk, then renamed; what is there is never written over: another
# content under the same name is an error that Postgres tells and tries again.
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
    """Return the command by which PostgreSQL fetches a piece of its log from an archive."""
    there = shlex.quote(str(archive / "wal")).replace("%", "%%")
    return f'cp {there}/%f "%p"'


def prepare_archive(archive: Path, account: Account | None) -> None:
    """Make the archive's folders, the log's for the user that Postgres runs as. Raises PathRefused."""
    make_folder(archive, 0o711)
    make_folder(archive / "blobs", 0o700)
    if make_folder(archive / "wal", 0o700) and account is not None:
        os.chown(archive / "wal", account.uid, account.gid)
    if account is not None and not account.can_reach(archive / "wal"):
        raise PathRefused(
            f"The user {account.name}, as whom Postgres runs, cannot reach {archive / 'wal'}; "
            "set KEBAB_WAL_ARCHIVE to a folder that it can walk to."
        )
