"""The layout and manifests of a backup folder.

<folder>/
    blobs/<workspace>/<two digits>/<hash>   all backups' blobs, each written once
    2026-11-22T100000Z/                     a backup; it gets this name once it is complete
        postgres/                           the cluster, with PostgreSQL's own manifest of checksums
        blobs.txt                           the names of its blobs
        secrets.json                        the keys of encrypted credentials and of sessions; mode 0600
        manifest.json
    2026-11-22T110000Z.partial/             an unfinished or killed backup: the next one deletes it
"""

import json
import os
import shutil
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from kebab.runtime.durable_files import replace_text
from kebab.stack.errors import StackError
from kebab.stack.servers.postgres import restore_command
from kebab.stack.servers.postgres_cluster import PostgresCluster


class BackupFailed(StackError):
    """A copy failed, or differs from the original."""

    code = "backup_failed"


class BackupMissing(StackError):
    """No backup leads to the requested state."""

    code = "backup_missing"


class RestoreFailed(StackError):
    """The restored database does not start, or does not reach the requested time."""

    code = "restore_failed"


class RestoreRefused(StackError):
    """The target has data already."""

    code = "restore_refused"


SCHEMA_VERSION = "backup.v1"
PARTIAL = ".partial"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The description of a backup; times in ISO 8601, by Postgres' clock."""

    schema_version: str
    kebab: str
    postgres: str
    system_identifier: str
    started_at: str
    #: With the archive, the backup can be restored to any moment from this time on.
    ended_at: str
    #: The WAL segment at which a replay begins.
    first_wal: str
    blobs: int
    blob_bytes: int
    #: BLAKE3 of `blobs.txt` and of PostgreSQL's manifest, 64 hex digits.
    blob_list_hash: str
    base_hash: str
    #: Whether it has secrets.json; else secrets are in the environment, and the operator has to back them up.
    has_secrets: bool
    #: The archive of later changes; empty: none.
    archive: str

    @property
    def end_time(self) -> datetime:
        """Return the time from which on the backup can be restored to any moment."""
        return datetime.fromisoformat(self.ended_at)


@dataclass(frozen=True, slots=True)
class Backup:
    """A complete backup."""

    path: Path
    manifest: Manifest

    @property
    def base(self) -> Path:
        """Return the folder of the cluster."""
        return self.path / "postgres"

    @property
    def blobs(self) -> Path:
        """Return the folder of blobs, which all backups of the folder share."""
        return self.path.parent / "blobs"

    def blob_names(self) -> list[str]:
        """Return the names of its blobs."""
        return (self.path / "blobs.txt").read_text(encoding="utf-8").split()


def backup_name(at: datetime) -> str:
    """Return the name of a backup that starts at a time."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H%M%S}Z"


def list_backups(folder: Path) -> list[Backup]:
    """Return the complete backups of a folder, oldest first. Raises BackupFailed for a damaged manifest."""
    if not folder.is_dir():
        return []
    found = [each for each in folder.iterdir() if (each / "manifest.json").exists()]
    return [_read_backup(each) for each in sorted(found) if each.suffix != PARTIAL]


def choose_backup(folder: Path, *, name: str = "", to: datetime | None = None) -> Backup:
    """Return the latest backup with the given name that had ended by `to`, if given. Raises BackupMissing."""
    backups = list_backups(folder)
    suitable = [
        each
        for each in backups
        if (not name or each.path.name == name) and (to is None or each.manifest.end_time <= to)
    ]
    if suitable:
        return suitable[-1]
    available = (
        ", ".join(f"{each.path.name} (from {each.manifest.ended_at} on)" for each in backups) or "none"
    )
    raise BackupMissing(f"{folder} contains no backup that leads there; it contains: {available}.")


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write a manifest into a backup."""
    text = json.dumps(asdict(manifest), indent=1)
    (path / "manifest.json").write_text(f"{text}\n", encoding="utf-8")


def _read_backup(path: Path) -> Backup:
    try:
        written = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
        known = {each.name for each in fields(Manifest)}
        manifest = Manifest(**{name: value for name, value in written.items() if name in known})
    except (ValueError, TypeError, AttributeError) as error:
        raise BackupFailed(f"{path / 'manifest.json'} is damaged: {error}") from error
    if manifest.schema_version != SCHEMA_VERSION:
        raise BackupFailed(f"{path} is a {manifest.schema_version}; this version reads {SCHEMA_VERSION}.")
    return Backup(path, manifest)


#: PostgreSQL's settings of a replay; they are reset after it.
RECOVERY_SETTINGS = (
    "restore_command",
    "recovery_target",
    "recovery_target_time",
    "recovery_target_timeline",
    "recovery_target_action",
)
# Secrets restored from a backup: its data was encrypted and signed with them. The others are the machine's.
_RESTORED_SECRETS = ("secret_key", "encryption_key")


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreTarget:
    """The target of a restore."""

    #: The name of a backup; empty: the latest one that leads to the target.
    backup: str = ""
    #: The target time; None: the backup's own end, or with `is_latest` the end of the archive.
    to: datetime | None = None
    is_latest: bool = False
    #: The archive; None: the one named by the backup.
    archive: Path | None = None
    #: PostgreSQL's timeline: the backup's own (`current`), the latest, or one by its number.
    timeline: str = "current"


def recovery_settings(target: RestoreTarget, archive: Path | None) -> dict[str, str]:
    """Return PostgreSQL's settings for the replay; it always ends on a new timeline."""
    fetch = "exit 1" if archive is None else restore_command(archive)
    if target.to is not None:
        moment = target.to.astimezone(UTC).isoformat(sep=" ")
        return {
            "restore_command": fetch,
            "recovery_target_time": moment,
            "recovery_target_timeline": target.timeline,
        }
    if target.is_latest:
        return {"restore_command": fetch, "recovery_target_timeline": target.timeline}
    # Later timelines than the backup's are irrelevant for its own end.
    return {
        "restore_command": fetch,
        "recovery_target": "immediate",
        "recovery_target_timeline": "current",
    }


def place_cluster(backup: Backup, cluster: PostgresCluster, recovery: dict[str, str]) -> None:
    """Copy the cluster under a temporary name, so that an existing one is always complete."""
    fresh = cluster.folder.with_name(f"{cluster.folder.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    shutil.copytree(backup.base, fresh, symlinks=True)
    settings = {**recovery, "recovery_target_action": "promote"}
    with (fresh / "postgresql.auto.conf").open("a", encoding="utf-8") as configuration:
        configuration.writelines(f"{name} = {_quote(value)}\n" for name, value in settings.items())
    (fresh / "recovery.signal").touch()
    fresh.chmod(0o700)
    if cluster.account is not None:
        for path in (fresh, *fresh.rglob("*")):
            os.chown(path, cluster.account.uid, cluster.account.gid, follow_symlinks=False)
    fresh.rename(cluster.folder)


def _quote(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def place_secrets(backup: Backup, path: Path) -> None:
    """Restore the backup's encryption and signing keys, unless secrets are in the environment."""
    if not backup.manifest.has_secrets or not path.exists():
        return
    own = json.loads(path.read_text(encoding="utf-8"))
    stored = json.loads((backup.path / "secrets.json").read_text(encoding="utf-8"))
    restored = {name: stored[name] for name in _RESTORED_SECRETS if name in stored}
    replace_text(path, json.dumps({**own, **restored}, indent=1) + "\n")
