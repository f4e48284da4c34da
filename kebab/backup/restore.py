"""`kebab restore`: the state of a backup."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from kebab.backup import basebackup, blobs
from kebab.backup.manifest import (
    Backup,
    BackupFailed,
    RestoreRefused,
    choose_backup,
    place_cluster,
    place_secrets,
)
from kebab.database.connections import close_connections
from kebab.runtime.durable_files import replace_text
from kebab.stack.configuration import StackConfiguration
from kebab.stack.servers.postgres import EmbeddedPostgres
from kebab.stack.servers.postgres_cluster import PostgresCluster, locate_cluster
from kebab.stack.storage.data_dir_lock import hold_for_stack

Announce = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreResult:
    """The result of a restore."""

    backup: Backup
    blobs: blobs.CopyResult


def restore(folder: Path, configuration: StackConfiguration, name: str, announce: Announce) -> RestoreResult:
    """Restore a backup, by default the latest: the embedded cluster, if there is one, and missing blobs.

    A killed restore can be repeated; other existing data of an embedded stack is refused. A database of
    another server must have been restored before.

    Raises:
        BackupMissing, BackupFailed: there is no intact backup.
        RestoreRefused: there is data already.
        ServerFailed: the restored cluster does not start.
    """
    backup = choose_backup(folder, name=name)
    announce(f"Checking {backup.path} ...")
    _check_backup(backup, has_cluster=configuration.has_embedded_postgres)
    if not configuration.has_embedded_postgres:
        return _restore_blobs(backup, announce)
    directory = configuration.directory
    directory.ensure()
    with hold_for_stack(directory, announce):
        cluster = locate_cluster(directory, configuration.postgres_user)
        _clear_target(configuration, cluster)
        announce("Copying the database ...")
        place_cluster(backup, cluster)
        place_secrets(backup, directory.secrets)
        server = EmbeddedPostgres(
            directory.path, runtime_dir=configuration.runtime_dir, user=configuration.postgres_user
        )
        with server:
            try:
                result = _restore_blobs(backup, announce)
            finally:
                close_connections()  # the server stops after it
        directory.unfinished_restore.unlink()
    return result


def _restore_blobs(backup: Backup, announce: Announce) -> RestoreResult:
    """Copy the blobs that the restored rows need; those of the folder's other backups count, too."""
    announce("Copying documents' bytes ...")
    return RestoreResult(backup=backup, blobs=blobs.copy_from_folder(blobs.needed_blobs(), backup.blobs))


def _check_backup(backup: Backup, *, has_cluster: bool) -> None:
    if blobs.hash_of(backup.path / "blobs.txt") != backup.manifest.blob_list_hash:
        raise BackupFailed(f"{backup.path / 'blobs.txt'} is damaged.")
    blobs.check_present(backup.blob_names(), backup.blobs)
    if not has_cluster:
        return
    if not backup.manifest.base_hash:
        raise BackupFailed(f"{backup.path} is of a database of another server: set DATABASE_URL to that.")
    if blobs.hash_of(backup.base / "backup_manifest") != backup.manifest.base_hash:
        raise BackupFailed(f"{backup.base / 'backup_manifest'} is damaged.")
    basebackup.check_copy(backup.base)


def _clear_target(configuration: StackConfiguration, cluster: PostgresCluster) -> None:
    """Delete the leftovers of a killed restore. Raises RestoreRefused for any other data."""
    directory = configuration.directory
    if directory.unfinished_restore.exists():
        shutil.rmtree(cluster.folder, ignore_errors=True)
    places = (cluster.folder, directory.blobs, directory.mirrors)
    occupied = [path for path in places if path.is_dir() and any(path.iterdir())]
    if occupied and not directory.unfinished_restore.exists():
        raise RestoreRefused(
            f"There is data in {occupied[0]} already; set KEBAB_DATA_DIR to a new folder, or move that away."
        )
    replace_text(directory.unfinished_restore, f"{datetime.now(UTC).isoformat()}\n")
