"""The archive (`KEBAB_WAL_ARCHIVE`): all that happened since a backup, to come back to any moment.

<archive>/
    wal/<segment>                           PostgreSQL's log, piece by piece, as it is finished
    blobs/<workspace>/<two digits>/<hash>   documents' bytes, copied when they are put in; those that were
                                            deleted since have the time of their deletion as theirs
    backup-folders                          where backups lie that need what is here
"""

import logging
import os
import subprocess
from collections.abc import Collection
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.core.files.storage import default_storage

from kebab.stack.paths import copy_whole, replace_text

#: The archive's file that says where backups lie.
FOLDERS = "backup-folders"

logger = logging.getLogger(__name__)


def archive_folder() -> Path | None:
    """Return the archive; None where there is none."""
    return settings.KEBAB_WAL_ARCHIVE


def archive_kept(name: str, content: Path) -> None:
    """Copy bytes that are kept under `name` into the archive, if there is one.

    An archive that takes nothing stops no upload: the next backup has the bytes, and so has the archive
    before they are deleted.
    """
    archive = archive_folder()
    try:
        if archive is not None and not (archive / "blobs" / name).exists():
            copy_whole(content, archive / "blobs" / name)
    except OSError as error:
        logger.error("the bytes %s are not archived: %s", name, error)


def archive_deleted(name: str) -> bool:
    """Have the archive keep bytes that are about to be deleted; False while it can't."""
    archive = archive_folder()
    if archive is None:
        return True
    kept = archive / "blobs" / name
    try:
        if not kept.exists():
            copy_whole(Path(default_storage.path(name)), kept)
        os.utime(kept)
    except FileNotFoundError:  # there is nothing to delete
        return True
    except NotImplementedError:  # a bucket keeps versions of its own
        return True
    except OSError as error:
        logger.error("the bytes %s stay, which can't be archived: %s", name, error)
        return False
    return True


def folders_of(archive: Path) -> list[Path]:
    """Return the folders in which backups lie that need this archive."""
    noted = archive / FOLDERS
    return [Path(line) for line in noted.read_text(encoding="utf-8").splitlines()] if noted.exists() else []


def note_folder(archive: Path, folder: Path) -> None:
    """Note that backups in a folder need this archive."""
    folders = folders_of(archive)
    if folder not in folders:
        replace_text(archive / FOLDERS, "".join(f"{each}\n" for each in [*folders, folder]))


def wal_place(name: str) -> str:
    """Return what of the name of a piece of the log says its place, behind the eight digits of its
    timeline.
    """
    return name[8:]


def prune_archive(
    archive: Path, binaries: Path, *, first_wal: str, before: datetime, needed: Collection[str]
) -> None:
    """Forget what leads to no moment after the oldest backup any more."""
    subprocess.run([str(binaries / "pg_archivecleanup"), str(archive / "wal"), first_wal], check=True)
    kept = archive / "blobs"
    for path in (each for each in kept.glob("*/*/*") if str(each.relative_to(kept)) not in needed):
        if path.stat().st_mtime < before.timestamp():
            path.unlink()
