"""`kebab backup`: a whole copy of the embedded stack, made while it is used."""

import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.db import connections
from psycopg import Connection

import kebab
from kebab.backup import basebackup, blobs
from kebab.backup.archive import FOLDERS, archive_folder, folders_of, note_folder, prune_archive, wal_place
from kebab.backup.deletion_lock import deletions_held
from kebab.backup.errors import BackupFailed
from kebab.backup.manifest import (
    PARTIAL,
    SCHEMA_VERSION,
    Backup,
    Manifest,
    backup_name,
    backups_in,
    write_manifest,
)
from kebab.stack.configuration import StackConfiguration
from kebab.stack.paths import copy_whole, make_folder
from kebab.stack.servers.postgres_install import wheel_install
from kebab.stack.servers.reachability import connect
from kebab.stack.storage.private_places import mark_private
from kebab.tenancy.roles import OWNER

logger = logging.getLogger(__name__)

Announce = Callable[[str], None]
_CLOCK = "SELECT clock_timestamp()"
_SERVER = "SELECT current_setting('server_version'), system_identifier::text FROM pg_control_system()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A backup that was made, and what it had to copy anew."""

    backup: Backup
    copied: blobs.Copied
    #: Names of the backups that went for it.
    removed: list[str]


def back_up(
    folder: Path, configuration: StackConfiguration, announce: Announce, *, keep: int | None = None
) -> Made:
    """Make a backup in `folder` while the servers run, and remove all but the latest `keep`.

    Raises BackupFailed, OSError.
    """
    _make_private(folder)
    with _as_owner() as owner, deletions_held(owner):
        started = _now(owner)
        path = folder / backup_name(started)
        if path.exists():
            raise BackupFailed(f"{path} is there already; a folder takes one backup a second.")
        _clear(folder)
        draft = Path(f"{path}{PARTIAL}")
        make_folder(draft, 0o700)
        copied = _fill(draft, folder, owner, configuration, announce)
        write_manifest(draft, _manifest(draft, owner, started))
        if (archive := archive_folder()) is not None:
            note_folder(archive, folder)
        _sync_tree(draft)
        draft.rename(path)
        _sync(folder)
        made = next(each for each in backups_in(folder) if each.path == path)
        # No other backup counts on bytes meanwhile that this one removes.
        removed = [] if keep is None else prune(folder, keep=keep)
    return Made(backup=made, copied=copied, removed=removed)


def _make_private(folder: Path) -> None:
    """Make a folder of backups, or close one that is there: what it holds is as secret as what it copies."""
    for each in (folder, folder / "blobs"):
        make_folder(each, 0o700)
        with suppress(PermissionError):  # of another user's folder only what is made in it is closed
            each.chmod(0o700)
    mark_private(folder)


def prune(folder: Path, *, keep: int) -> list[str]:
    """Remove all but the latest backups, and what only those needed; give the names of those removed."""
    backups = backups_in(folder)
    old, kept = backups[:-keep], backups[-keep:]
    for backup in old:
        gone = backup.path.rename(f"{backup.path}{PARTIAL}")  # from here on it is none
        shutil.rmtree(gone)
    needed = {name for backup in kept for name in backup.blob_names()}
    shared = folder / "blobs"
    for path in shared.glob("*/*/*"):
        if str(path.relative_to(shared)) not in needed:
            path.unlink()
    archive = archive_folder()
    if archive is not None:
        _prune_archive(archive)
    return [backup.path.name for backup in old]


def _prune_archive(archive: Path) -> None:
    """Forget what is older than the oldest backup, in whatever folder it lies."""
    backups_of = {folder: backups_in(folder) for folder in folders_of(archive)}
    if empty := [str(folder) for folder, found in backups_of.items() if not found]:
        # Nobody knows what one that isn't mounted needs.
        logger.warning(
            "the archive %s is not pruned: there is no backup in %s; mount it, or take its line out of %s",
            archive,
            ", ".join(empty),
            archive / FOLDERS,
        )
        return
    backups = [backup for found in backups_of.values() for backup in found]
    before = min(datetime.fromisoformat(backup.manifest.started_at) for backup in backups)
    # After a restore the log goes on under another number from a place before later backups'.
    first_wal = min((backup.manifest.first_wal for backup in backups), key=wal_place)
    needed = {name for backup in backups for name in backup.blob_names()} | blobs.needed_blobs()
    prune_archive(archive, wheel_install().binaries, first_wal=first_wal, before=before, needed=needed)


def _fill(
    draft: Path, folder: Path, owner: Connection, configuration: StackConfiguration, announce: Announce
) -> blobs.Copied:
    """Copy bytes before the cluster, so that none is gone by then, and those that came meanwhile after it."""
    shared = folder / "blobs"
    announce("Copying documents' bytes ...")
    before = blobs.needed_blobs()
    first = blobs.copy_to_folder(before, shared)
    announce("Copying the database ...")
    basebackup.copy_cluster(configuration, draft / "postgres")
    after = blobs.needed_blobs()  # at once: what is replaced from here on is in the copy
    second = blobs.copy_to_folder(after - before, shared)
    basebackup.check_copy(draft / "postgres")
    _refuse_damage([*first.damaged, *second.damaged])
    names = sorted(name for name in before | after if (shared / name).exists())
    (draft / "blobs.txt").write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    if _has_secrets(configuration):
        copy_whole(configuration.directory.secrets, draft / "secrets.json")
        (draft / "secrets.json").chmod(0o600)
    for name in {*first.missing, *second.missing}:
        announce(f"The bytes {name} are not there; kebab doctor says whose they are.")
    return blobs.Copied(
        blobs=first.blobs + second.blobs,
        size_bytes=first.size_bytes + second.size_bytes,
        missing=sorted({*first.missing, *second.missing}),
    )


def _refuse_damage(names: list[str]) -> None:
    if names:
        raise BackupFailed(
            f"{len(names)} blobs are not what their names say, such as {names[0]}: run kebab doctor --deep, "
            "and copy them back from an earlier backup."
        )


def _manifest(draft: Path, owner: Connection, started: datetime) -> Manifest:
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
        ended_at=_now(owner).isoformat(),
        first_wal=basebackup.first_wal(draft / "postgres"),
        blobs=len(names),
        blob_bytes=sum((shared / name).stat().st_size for name in names),
        blob_list_hash=blobs.hash_of(draft / "blobs.txt"),
        base_hash=blobs.hash_of(draft / "postgres" / "backup_manifest"),
        has_secrets=(draft / "secrets.json").exists(),
        archive="" if archive is None else str(archive),
    )


def _has_secrets(configuration: StackConfiguration) -> bool:
    return configuration.directory.secrets.exists()


@contextmanager
def _as_owner() -> Iterator[Connection[Any]]:
    """Return a connection as the owner of the tables."""
    with connect(connections[OWNER].settings_dict) as owner:
        yield owner


def _now(owner: Connection[Any]) -> datetime:
    row = owner.execute(_CLOCK).fetchone()
    return row[0].astimezone(UTC) if row else datetime.now(UTC)


def _clear(folder: Path) -> None:
    """Remove what killed backups left."""
    for left in folder.glob(f"*{PARTIAL}"):
        shutil.rmtree(left)
    for draft in (folder / "blobs").glob("*/*/.*.tmp"):
        draft.unlink()


def _sync_tree(root: Path) -> None:
    """Bring our own files of a backup to the disk; PostgreSQL has done so with its own."""
    for path in (*root.glob("*.json"), root / "blobs.txt", root):
        _sync(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
