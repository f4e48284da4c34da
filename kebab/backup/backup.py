"""`kebab backup`: documents' bytes, settings and secrets, and the embedded cluster, while all is in use."""

import os
import shlex
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.db import connections
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
from kebab.runtime.durable_files import copy_file, sync_to_disk
from kebab.stack.configuration import StackConfiguration
from kebab.stack.paths import create_folder
from kebab.stack.storage.private_places import mark_private
from kebab.tenancy.postgres.pool import connect
from kebab.tenancy.roles import OWNER

Announce = Callable[[str], None]
# Beside those that begin with KEBAB_.
_OTHER_SETTINGS = {"DATABASE_URL", "REDIS_URL", "OTEL_EXPORTER_OTLP_ENDPOINT"}
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
        for written in (*(each for each in draft.iterdir() if each.is_file()), draft):
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
    return [backup.path.name for backup in old]


def _copy_all(
    draft: Path, folder: Path, owner: Connection, configuration: StackConfiguration, announce: Announce
) -> blobs.CopyResult:
    """Copy blobs, then the embedded cluster, then the blobs added meanwhile, so that none is missing."""
    shared = folder / "blobs"
    announce("Copying documents' bytes ...")
    before = blobs.needed_blobs()
    first = blobs.copy_to_folder(before, shared)
    if configuration.has_embedded_postgres:
        announce("Copying the database ...")
        basebackup.copy_cluster(configuration, draft / "postgres")
    after = blobs.needed_blobs()  # immediately: blobs replaced from here on are still in the copy
    second = blobs.copy_to_folder(after - before, shared)
    if configuration.has_embedded_postgres:
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
    _write_settings(draft / "settings.env")
    for name in {*first.missing, *second.missing}:
        announce(f"The bytes {name} are not there; kebab doctor says whose they are.")
    return blobs.CopyResult(
        blobs=first.blobs + second.blobs,
        size_bytes=first.size_bytes + second.size_bytes,
        missing=sorted({*first.missing, *second.missing}),
    )


def _write_settings(path: Path) -> None:
    """Write the settings in the environment, quoted as shells and systemd read them."""
    names = sorted(name for name in os.environ if name.startswith("KEBAB_") or name in _OTHER_SETTINGS)
    path.touch(mode=0o600)
    path.write_text("".join(f"{name}={shlex.quote(os.environ[name])}\n" for name in names), encoding="utf-8")


def _build_manifest(draft: Path, owner: Connection, started: datetime) -> Manifest:
    postgres, system = owner.execute(_SERVER).fetchone() or ("", "")
    names = (draft / "blobs.txt").read_text(encoding="utf-8").split()
    shared = draft.parent / "blobs"
    base = draft / "postgres" / "backup_manifest"
    return Manifest(
        schema_version=SCHEMA_VERSION,
        kebab=kebab.__version__,
        postgres=postgres,
        system_identifier=system,
        started_at=started.isoformat(),
        ended_at=_database_time(owner).isoformat(),
        blobs=len(names),
        blob_bytes=sum((shared / name).stat().st_size for name in names),
        blob_list_hash=blobs.hash_of(draft / "blobs.txt"),
        base_hash=blobs.hash_of(base) if base.exists() else "",
        has_secrets=(draft / "secrets.json").exists(),
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
