"""The layout and manifests of a backup folder.

<folder>/
    blobs/<workspace>/<two digits>/<hash>   all backups' blobs, each written once
    2026-11-22T100000Z/                     a backup; it gets this name once it is complete
        postgres/                           the embedded cluster, with PostgreSQL's own manifest of checksums
        blobs.txt                           the names of its blobs
        secrets.json                        the embedded stack's keys of credentials and sessions; mode 0600
        settings.env                        the settings in the environment, with their secrets; mode 0600
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
from kebab.stack.servers.postgres_cluster import PostgresCluster


class BackupFailed(StackError):
    """A copy failed, or differs from the original."""

    code = "backup_failed"


class BackupMissing(StackError):
    """The folder lacks the requested backup."""

    code = "backup_missing"


class RestoreRefused(StackError):
    """The target has data already."""

    code = "restore_refused"


SCHEMA_VERSION = "backup.v2"
# The former version, of Kebab up to 0.3.0, has the same layout, and facts about an archive of the log.
_READABLE = {"backup.v1", SCHEMA_VERSION}
PARTIAL = ".partial"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The description of a backup; times in ISO 8601, by Postgres' clock."""

    schema_version: str
    kebab: str
    postgres: str
    system_identifier: str
    started_at: str
    #: The embedded cluster is restored to this moment.
    ended_at: str
    blobs: int
    blob_bytes: int
    #: BLAKE3 of `blobs.txt` and of PostgreSQL's manifest, 64 hex digits; without a cluster the latter is "".
    blob_list_hash: str
    base_hash: str
    has_secrets: bool


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


def choose_backup(folder: Path, *, name: str = "") -> Backup:
    """Return the latest backup, or the one of this name. Raises BackupMissing."""
    backups = list_backups(folder)
    suitable = [each for each in backups if not name or each.path.name == name]
    if suitable:
        return suitable[-1]
    available = ", ".join(each.path.name for each in backups) or "none"
    raise BackupMissing(f"{folder} lacks such a backup; it contains: {available}.")


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
    if manifest.schema_version not in _READABLE:
        raise BackupFailed(f"{path} is a {manifest.schema_version}; this version reads {SCHEMA_VERSION}.")
    return Backup(path, manifest)


# Secrets restored from a backup: its data was encrypted and signed with them. The others are the machine's.
_RESTORED_SECRETS = ("secret_key", "encryption_key")


def place_cluster(backup: Backup, cluster: PostgresCluster) -> None:
    """Copy the cluster under a temporary name, so that an existing one is always complete."""
    fresh = cluster.folder.with_name(f"{cluster.folder.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    shutil.copytree(backup.base, fresh, symlinks=True)
    fresh.chmod(0o700)
    if cluster.account is not None:
        for path in (fresh, *fresh.rglob("*")):
            os.chown(path, cluster.account.uid, cluster.account.gid, follow_symlinks=False)
    fresh.rename(cluster.folder)


def place_secrets(backup: Backup, path: Path) -> None:
    """Restore the backup's encryption and signing keys, unless secrets are in the environment."""
    if not backup.manifest.has_secrets or not path.exists():
        return
    own = json.loads(path.read_text(encoding="utf-8"))
    stored = json.loads((backup.path / "secrets.json").read_text(encoding="utf-8"))
    restored = {name: stored[name] for name in _RESTORED_SECRETS if name in stored}
    replace_text(path, json.dumps({**own, **restored}, indent=1) + "\n")
