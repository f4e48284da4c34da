"""The archive (`KEBAB_WAL_ARCHIVE`): all changes since a backup, for a restore to any moment.

<archive>/
    wal/<segment>                           PostgreSQL's WAL segments, as they are completed
    blobs/<workspace>/<two digits>/<hash>   documents' bytes, copied when they are stored; the modification
                                            time of deleted ones is the time of their deletion
    backup-folders                          the folders of backups that need this archive
"""

import logging
import os
import subprocess
from collections.abc import Collection
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.core.files.storage import default_storage

from kebab.runtime.durable_files import copy_file, replace_text

#: The archive's file that lists the folders of backups.
FOLDERS = "backup-folders"

logger = logging.getLogger(__name__)


def archive_folder() -> Path | None:
    """Return the archive's folder; None if none is configured."""
    return settings.KEBAB_WAL_ARCHIVE


def archive_stored_blob(name: str, content: Path) -> None:
    """Copy a stored blob into the archive, if there is one.

    A failure stops no upload: the next backup copies the bytes, and they are archived before their deletion.
    """
    archive = archive_folder()
    try:
        if archive is not None and not (archive / "blobs" / name).exists():
            copy_file(content, archive / "blobs" / name)
    except OSError as error:
        logger.error("the bytes %s are not archived: %s", name, error)


def archive_before_deletion(name: str) -> bool:
    """Archive a blob that is about to be deleted; return False if that fails."""
    archive = archive_folder()
    if archive is None:
        return True
    archived = archive / "blobs" / name
    try:
        if not archived.exists():
            copy_file(Path(default_storage.path(name)), archived)
        os.utime(archived)
    except FileNotFoundError:  # the blob is already deleted
        return True
    except NotImplementedError:  # a bucket has its own versioning
        return True
    except OSError as error:
        logger.error("the bytes %s stay, which can't be archived: %s", name, error)
        return False
    return True


def backup_folders(archive: Path) -> list[Path]:
    """Return the folders of backups that need this archive."""
    record = archive / FOLDERS
    return [Path(line) for line in record.read_text(encoding="utf-8").splitlines()] if record.exists() else []


def record_folder(archive: Path, folder: Path) -> None:
    """Record that backups in a folder need this archive."""
    folders = backup_folders(archive)
    if folder not in folders:
        replace_text(archive / FOLDERS, "".join(f"{each}\n" for each in [*folders, folder]))


def wal_position(name: str) -> str:
    """Return the position in a WAL segment's name, after the eight digits of its timeline."""
    return name[8:]


def prune_archive(
    archive: Path, binaries: Path, *, first_wal: str, before: datetime, needed: Collection[str]
) -> None:
    """Delete WAL before `first_wal`, and archived blobs deleted before `before` that no backup needs."""
    subprocess.run([str(binaries / "pg_archivecleanup"), str(archive / "wal"), first_wal], check=True)
    archived = archive / "blobs"
    for path in (each for each in archived.glob("*/*/*") if str(each.relative_to(archived)) not in needed):
        if path.stat().st_mtime < before.timestamp():
            path.unlink()
