"""`kebab backup`: a complete copy of the embedded stack, created while it is in use.

<archive>/
    wal/<segment>                           PostgreSQL's WAL segments, as they are completed
    blobs/<workspace>/<two digits>/<hash>   documents' bytes, copied when they are stored; the modification
                                            time of deleted ones is the time of their deletion
    backup-folders                          the folders of backups that need this archive
"""

import logging
import os
import shutil
import subprocess
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import connection, connections
from psycopg import Connection

import kebab
from kebab.backup import basebackup, blobs
from kebab.backup.deletion_lock import hold_deletions
from kebab.backup.manifest import (
    PARTIAL,
    SCHEMA_VERSION,
    Backup,
    BackupFailed,
    Manifest,
    backup_name,
    list_backups,
    write_manifest,
)
from kebab.health.checks import CheckResult, failed_result, ok_result, warning_result
from kebab.runtime.durable_files import copy_file, replace_text, sync_to_disk
from kebab.stack.configuration import StackConfiguration
from kebab.stack.paths import create_folder
from kebab.stack.servers.postgres_cluster import wheel_install
from kebab.stack.storage.private_places import mark_private
from kebab.tenancy.postgres.pool import connect
from kebab.tenancy.roles import OWNER

#: The archive's file that lists the folders of backups.
FOLDERS = "backup-folders"


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


logger = logging.getLogger(__name__)

Announce = Callable[[str], None]
_CLOCK = "SELECT clock_timestamp()"
_SERVER = "SELECT current_setting('server_version'), system_identifier::text FROM pg_control_system()"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupResult:
    """A new backup, with the blobs copied for it and the backups deleted after it."""

    backup: Backup
    copied: blobs.CopyResult
    #: Names of the deleted backups.
    removed: list[str]


def back_up(
    folder: Path, configuration: StackConfiguration, announce: Announce, *, keep: int | None = None
) -> BackupResult:
    """Create a backup in `folder` while the servers run, and delete all but the latest `keep`.

    Raises BackupFailed, OSError.
    """
    _create_private_folder(folder)
    with connect(connections[OWNER].settings_dict) as owner, hold_deletions(owner):
        started = _database_time(owner)
        path = folder / backup_name(started)
        if path.exists():
            raise BackupFailed(f"{path} is there already; a folder takes one backup a second.")
        _delete_partial_backups(folder)
        draft = Path(f"{path}{PARTIAL}")
        create_folder(draft, 0o700)
        copied = _copy_all(draft, folder, owner, configuration, announce)
        write_manifest(draft, _build_manifest(draft, owner, started))
        if (archive := archive_folder()) is not None:
            record_folder(archive, folder)
        for written in (*draft.glob("*.json"), draft / "blobs.txt", draft):
            sync_to_disk(written)  # PostgreSQL has synced its own files
        draft.rename(path)
        sync_to_disk(folder)
        new_backup = next(each for each in list_backups(folder) if each.path == path)
        # Still under the lock: no concurrent backup can rely on bytes that this deletes.
        removed = [] if keep is None else prune(folder, keep=keep)
    return BackupResult(backup=new_backup, copied=copied, removed=removed)


def _create_private_folder(folder: Path) -> None:
    """Create a private folder for backups, or restrict an existing one: a copy is as secret as its source."""
    for each in (folder, folder / "blobs"):
        create_folder(each, 0o700)
        with suppress(PermissionError):  # in another user's folder, only our own files are restricted
            each.chmod(0o700)
    mark_private(folder)


def prune(folder: Path, *, keep: int) -> list[str]:
    """Delete all but the latest backups, and what only those needed; return the names of the deleted ones."""
    backups = list_backups(folder)
    old, retained = backups[:-keep], backups[-keep:]
    for backup in old:
        deleted = backup.path.rename(f"{backup.path}{PARTIAL}")  # from here on it is no valid backup
        shutil.rmtree(deleted)
    needed = {name for backup in retained for name in backup.blob_names()}
    shared = folder / "blobs"
    for path in shared.glob("*/*/*"):
        if str(path.relative_to(shared)) not in needed:
            path.unlink()
    archive = archive_folder()
    if archive is not None:
        _prune_archive(archive)
    return [backup.path.name for backup in old]


def _prune_archive(archive: Path) -> None:
    """Delete archived data that is older than the oldest backup in any folder."""
    backups_of = {folder: list_backups(folder) for folder in backup_folders(archive)}
    if empty := [str(folder) for folder, found in backups_of.items() if not found]:
        # A folder that isn't mounted may have backups that need the archive.
        logger.warning(
            "the archive %s is not pruned: there is no backup in %s; mount it, or take its line out of %s",
            archive,
            ", ".join(empty),
            archive / FOLDERS,
        )
        return
    backups = [backup for found in backups_of.values() for backup in found]
    before = min(datetime.fromisoformat(backup.manifest.started_at) for backup in backups)
    # After a restore the WAL continues on a new timeline, from a position before later backups'.
    first_wal = min((backup.manifest.first_wal for backup in backups), key=wal_position)
    needed = {name for backup in backups for name in backup.blob_names()} | blobs.needed_blobs()
    prune_archive(archive, wheel_install().binaries, first_wal=first_wal, before=before, needed=needed)


def _copy_all(
    draft: Path, folder: Path, owner: Connection, configuration: StackConfiguration, announce: Announce
) -> blobs.CopyResult:
    """Copy blobs, then the cluster, then the blobs added meanwhile, so that none is missing."""
    shared = folder / "blobs"
    announce("Copying documents' bytes ...")
    before = blobs.needed_blobs()
    first = blobs.copy_to_folder(before, shared)
    announce("Copying the database ...")
    basebackup.copy_cluster(configuration, draft / "postgres")
    after = blobs.needed_blobs()  # immediately: blobs replaced from here on are still in the copy
    second = blobs.copy_to_folder(after - before, shared)
    basebackup.check_copy(draft / "postgres")
    if damaged := [*first.damaged, *second.damaged]:
        raise BackupFailed(
            f"{len(damaged)} blobs are not what their names say, such as {damaged[0]}: run kebab doctor "
            "--deep, and copy them back from an earlier backup."
        )
    names = sorted(name for name in before | after if (shared / name).exists())
    (draft / "blobs.txt").write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    if configuration.directory.secrets.exists():
        copy_file(configuration.directory.secrets, draft / "secrets.json")
        (draft / "secrets.json").chmod(0o600)
    for name in {*first.missing, *second.missing}:
        announce(f"The bytes {name} are not there; kebab doctor says whose they are.")
    return blobs.CopyResult(
        blobs=first.blobs + second.blobs,
        size_bytes=first.size_bytes + second.size_bytes,
        missing=sorted({*first.missing, *second.missing}),
    )


def _build_manifest(draft: Path, owner: Connection, started: datetime) -> Manifest:
    postgres, system = owner.execute(_SERVER).fetchone() or ("", "")
    names = (draft / "blobs.txt").read_text(encoding="utf-8").split()
    shared = draft.parent / "blobs"
    archive = archive_folder()
    return Manifest(
        schema_version=SCHEMA_VERSION,
        kebab=kebab.__version__,
        postgres=postgres,
        system_identifier=system,
        started_at=started.isoformat(),
        ended_at=_database_time(owner).isoformat(),
        first_wal=basebackup.first_wal(draft / "postgres"),
        blobs=len(names),
        blob_bytes=sum((shared / name).stat().st_size for name in names),
        blob_list_hash=blobs.hash_of(draft / "blobs.txt"),
        base_hash=blobs.hash_of(draft / "postgres" / "backup_manifest"),
        has_secrets=(draft / "secrets.json").exists(),
        archive="" if archive is None else str(archive),
    )


def _database_time(owner: Connection[Any]) -> datetime:
    row = owner.execute(_CLOCK).fetchone()
    return row[0].astimezone(UTC) if row else datetime.now(UTC)


def _delete_partial_backups(folder: Path) -> None:
    """Delete the leftovers of killed backups."""
    for partial in folder.glob(f"*{PARTIAL}"):
        shutil.rmtree(partial)
    for draft in (folder / "blobs").glob("*/*/*.tmp"):
        draft.unlink()


_WAL = "archive"
_ARCHIVER = """
SELECT current_setting('archive_mode') <> 'off', last_archived_time, last_failed_wal,
    coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false)
FROM pg_stat_archiver
"""


def check_archive(repair: bool = False) -> CheckResult:
    """Check that WAL is archived, if an archive is configured."""
    archive = archive_folder()
    if archive is None or not settings.KEBAB_EMBEDDED_POSTGRES:
        return ok_result(_WAL, "none was asked for: a backup leads to its own end")
    with connection.cursor() as cursor:
        cursor.execute(_ARCHIVER)
        is_on, last_archived, failed_wal, is_failing = cursor.fetchone()
    if not is_on:
        return warning_result(
            _WAL, "Postgres runs without it", "Restart the stack with KEBAB_WAL_ARCHIVE set."
        )
    if is_failing:
        remedy = (
            "See logs/postgres.log; make room there, or let the user that Postgres runs as write into it."
        )
        return failed_result(_WAL, f"{archive / 'wal'} does not take {failed_wal}: the log piles up", remedy)
    if not (archive / "blobs").is_dir():
        return failed_result(_WAL, f"{archive / 'blobs'} is gone", "Mount it again, or restart the stack.")
    return ok_result(_WAL, f"{archive} has all up to {last_archived or 'now, which is nothing yet'}")
