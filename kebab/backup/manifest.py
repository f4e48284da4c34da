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
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from kebab.backup.errors import BackupFailed, BackupMissing

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
