"""`kebab restore`: a data directory from a backup, as of the backup's end or a later moment."""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from kebab.backup import basebackup, blobs
from kebab.backup.manifest import (
    RECOVERY_SETTINGS,
    Backup,
    BackupFailed,
    BackupMissing,
    RestoreFailed,
    RestoreRefused,
    RestoreTarget,
    choose_backup,
    place_cluster,
    place_secrets,
    recovery_settings,
)
from kebab.database.connections import close_connections
from kebab.runtime.durable_files import replace_text
from kebab.stack.configuration import StackConfiguration
from kebab.stack.servers.postgres import EmbeddedPostgres
from kebab.stack.servers.postgres_cluster import PostgresCluster, locate_cluster
from kebab.stack.storage.data_dir_lock import hold_for_stack
from kebab.stack.supervisor.child import log_tail

Announce = Callable[[str], None]
_POLL_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreResult:
    """The result of a restore; `reached` is the time of the last restored write."""

    backup: Backup
    reached: datetime | None
    blobs: blobs.CopyResult


def restore(
    folder: Path, configuration: StackConfiguration, target: RestoreTarget, announce: Announce
) -> RestoreResult:
    """Restore the data directory. A killed restore can be repeated; other existing data is refused.

    Raises:
        BackupMissing, BackupFailed: no intact backup leads to the target.
        RestoreRefused: there is data already.
        RestoreFailed: the WAL does not reach the target.
    """
    backup = choose_backup(folder, name=target.backup, to=target.to)
    archive = _find_archive(backup, target)
    _announce_branches(backup, target, archive, announce)
    announce(f"Checking {backup.path} ...")
    _check_backup(backup)
    directory = configuration.directory
    directory.ensure()
    with hold_for_stack(directory, announce):
        cluster = locate_cluster(directory, configuration.postgres_user)
        _clear_target(configuration, cluster)
        announce("Copying the database ...")
        place_cluster(backup, cluster, recovery_settings(target, archive))
        place_secrets(backup, directory.secrets)
        sources = [backup.blobs, *([] if archive is None else [archive / "blobs"])]
        reached, copied = _recover(configuration, sources, announce)
        directory.unfinished_restore.unlink()
    return RestoreResult(backup=backup, reached=reached, blobs=copied)


def _recover(
    configuration: StackConfiguration, sources: list[Path], announce: Announce
) -> tuple[datetime | None, blobs.CopyResult]:
    """Replay the WAL, then copy the blobs that the rows need."""
    server = EmbeddedPostgres(
        configuration.directory.path,
        runtime_dir=configuration.runtime_dir,
        user=configuration.postgres_user,
        archive=configuration.archive,
    )
    try:
        announce("Bringing it to the moment that was asked for ...")
        reached = _replay(server)
        announce("Copying documents' bytes ...")
        return reached, blobs.copy_from_folders(blobs.needed_blobs(), sources)
    finally:
        close_connections()  # the server stops before it
        server.stop()


def _find_archive(backup: Backup, target: RestoreTarget) -> Path | None:
    """Return the archive to replay from. Raises BackupMissing if it is needed and missing."""
    named = target.archive or (Path(backup.manifest.archive) if backup.manifest.archive else None)
    if named is not None and (named / "wal").is_dir():
        return named
    if target.to is not None or target.is_latest:
        raise BackupMissing(
            f"What happened after {backup.path.name} is not archived in {named or 'any folder'}; "
            "give --archive, or leave --to away for the backup's own end."
        )
    return None


def _announce_branches(
    backup: Backup, target: RestoreTarget, archive: Path | None, announce: Announce
) -> None:
    """Announce later timelines in the archive: each earlier restore has started one."""
    own = backup.manifest.first_wal[:8]
    found = [] if archive is None else sorted(path.stem for path in (archive / "wal").glob("*.history"))
    later = [str(int(name, 16)) for name in found if name > own]
    if later and (target.to is not None or target.is_latest):
        announce(
            f"The archive has later branches, too: {', '.join(later)}; following the "
            f"{target.timeline} one (--timeline)."
        )


def _check_backup(backup: Backup) -> None:
    if blobs.hash_of(backup.path / "blobs.txt") != backup.manifest.blob_list_hash:
        raise BackupFailed(f"{backup.path / 'blobs.txt'} is damaged.")
    if blobs.hash_of(backup.base / "backup_manifest") != backup.manifest.base_hash:
        raise BackupFailed(f"{backup.base / 'backup_manifest'} is damaged.")
    basebackup.check_copy(backup.base)
    blobs.check_present(backup.blob_names(), backup.blobs)


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


def _replay(server: EmbeddedPostgres) -> datetime | None:
    """Start the server and wait for the end of the replay; return the time of its last write."""
    server.spawn()
    while True:
        try:
            with server.connect() as session:
                row = session.execute(
                    "SELECT pg_is_in_recovery(), pg_last_xact_replay_timestamp()"
                ).fetchone()
                if row is not None and not row[0]:
                    for name in RECOVERY_SETTINGS:
                        session.execute(f"ALTER SYSTEM RESET {name}")
                    reached: datetime | None = row[1]
                    return reached
        except psycopg.OperationalError:
            pass  # the replay is not finished
        if not server.is_alive():
            raise RestoreFailed(
                f"PostgreSQL ended while it replayed; {server.log} says why:\n{log_tail(server.log)}\n"
                "If the log ends before the time that was asked for, give an earlier one, or --to latest;"
                " if what was restored went on since, follow that by --timeline latest."
            )
        time.sleep(_POLL_S)
