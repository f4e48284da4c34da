"""`kebab restore`: a data directory out of a backup, as it was at its end or at a later moment."""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psycopg
from django.db import connection

from kebab.backup import basebackup, blobs
from kebab.backup.errors import BackupFailed, BackupMissing, RestoreFailed, RestoreRefused
from kebab.backup.layout import RECOVERY_SETTINGS, Wanted, place_cluster, place_secrets, recovery_settings
from kebab.backup.manifest import Backup, chosen
from kebab.stack.configuration import StackConfiguration
from kebab.stack.paths import replace_text
from kebab.stack.servers.addresses import DATABASE_OWNER, POSTGRES_PORT
from kebab.stack.servers.postgres import EmbeddedPostgres
from kebab.stack.servers.postgres_cluster import PostgresCluster, cluster_of
from kebab.stack.storage.data_dir_lock import held_by_up
from kebab.stack.supervisor.process_logs import log_tail

Announce = Callable[[str], None]
_POLL_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What was come back to; `reached` is the time of the last write in it."""

    backup: Backup
    reached: datetime | None
    blobs: blobs.Copied


def restore(folder: Path, configuration: StackConfiguration, wanted: Wanted, announce: Announce) -> Restored:
    """Make the data directory anew. One that was killed is run again; what is there otherwise is refused.

    Raises:
        BackupMissing, BackupFailed: nothing whole leads there.
        RestoreRefused: there is data already.
        RestoreFailed: the log does not lead there.
    """
    backup = chosen(folder, named=wanted.backup, to=wanted.to)
    archive = _archive(backup, wanted)
    _tell_branches(backup, wanted, archive, announce)
    announce(f"Checking {backup.path} ...")
    _check(backup)
    directory = configuration.directory
    directory.ensure()
    with held_by_up(directory, announce):
        cluster = cluster_of(directory, configuration.postgres_user)
        _make_room(configuration, cluster)
        announce("Copying the database ...")
        place_cluster(backup, cluster, recovery_settings(wanted, archive))
        place_secrets(backup, directory.secrets)
        sources = [backup.blobs, *([] if archive is None else [archive / "blobs"])]
        reached, copied = _bring_up(configuration, sources, announce)
        directory.unfinished_restore.unlink()
    return Restored(backup=backup, reached=reached, blobs=copied)


def _bring_up(
    configuration: StackConfiguration, sources: list[Path], announce: Announce
) -> tuple[datetime | None, blobs.Copied]:
    """Replay the log, and copy the bytes that the rows need by then."""
    server = EmbeddedPostgres(
        configuration.directory.path,
        runtime_dir=configuration.runtime_dir,
        user=configuration.postgres_user,
        archive=configuration.archive,
    )
    try:
        announce("Bringing it to the moment that was asked for ...")
        reached = _recover(server)
        announce("Copying documents' bytes ...")
        return reached, blobs.copy_from_folders(blobs.needed_blobs(), sources)
    finally:
        connection.close()  # it would outlive the server
        connection.close_pool()
        server.stop()


def _archive(backup: Backup, wanted: Wanted) -> Path | None:
    """Return the archive to replay from. Raises BackupMissing where it is needed and not there."""
    named = wanted.archive or (Path(backup.manifest.archive) if backup.manifest.archive else None)
    if named is not None and (named / "wal").is_dir():
        return named
    if wanted.to is not None or wanted.is_latest:
        raise BackupMissing(
            f"What happened after {backup.path.name} is not archived in {named or 'any folder'}; "
            "give --archive, or leave --to away for the backup's own end."
        )
    return None


def _tell_branches(backup: Backup, wanted: Wanted, archive: Path | None, announce: Announce) -> None:
    """Say that there are others: what was restored before, in earnest or to try it, went on as one."""
    own = backup.manifest.first_wal[:8]
    found = [] if archive is None else sorted(path.stem for path in (archive / "wal").glob("*.history"))
    later = [str(int(name, 16)) for name in found if name > own]
    if later and (wanted.to is not None or wanted.is_latest):
        announce(
            f"The archive has later branches, too: {', '.join(later)}; following the "
            f"{wanted.timeline} one (--timeline)."
        )


def _check(backup: Backup) -> None:
    if blobs.hash_of(backup.path / "blobs.txt") != backup.manifest.blob_list_hash:
        raise BackupFailed(f"{backup.path / 'blobs.txt'} is damaged.")
    if blobs.hash_of(backup.base / "backup_manifest") != backup.manifest.base_hash:
        raise BackupFailed(f"{backup.base / 'backup_manifest'} is damaged.")
    basebackup.check_copy(backup.base)
    blobs.checked(backup.blob_names(), backup.blobs)


def _make_room(configuration: StackConfiguration, cluster: PostgresCluster) -> None:
    """Clear away what a killed restore made. Raises RestoreRefused for what anything else made."""
    directory = configuration.directory
    if directory.unfinished_restore.exists():
        shutil.rmtree(cluster.folder, ignore_errors=True)
    there = [path for path in (cluster.folder, directory.blobs, directory.mirrors) if _holds_something(path)]
    if there and not directory.unfinished_restore.exists():
        raise RestoreRefused(
            f"There is data in {there[0]} already; set KEBAB_DATA_DIR to a new folder, or move that away."
        )
    replace_text(directory.unfinished_restore, f"{datetime.now(UTC).isoformat()}\n")


def _holds_something(path: Path) -> bool:
    return path.is_dir() and any(path.iterdir())


def _recover(server: EmbeddedPostgres) -> datetime | None:
    """Wait for the end of the replay, however long it takes; gives the time of its last write."""
    server.spawn()
    while True:
        try:
            with _connected(server) as asked:
                row = asked.execute("SELECT pg_is_in_recovery(), pg_last_xact_replay_timestamp()").fetchone()
                if row is not None and not row[0]:
                    for name in RECOVERY_SETTINGS:
                        asked.execute(f"ALTER SYSTEM RESET {name}")
                    return row[1]
        except psycopg.OperationalError:
            pass  # it replays
        if not server.is_alive():
            raise RestoreFailed(
                f"PostgreSQL ended while it replayed; {server.log} says why:\n{log_tail(server.log)}\n"
                "If the log ends before the time that was asked for, give an earlier one, or --to latest;"
                " if what was restored went on since, follow that by --timeline latest."
            )
        time.sleep(_POLL_S)


def _connected(server: EmbeddedPostgres) -> psycopg.Connection:
    return psycopg.connect(
        host=str(server.socket_folder),
        port=POSTGRES_PORT,
        user=DATABASE_OWNER,
        dbname="postgres",
        connect_timeout=2,
        autocommit=True,
    )
