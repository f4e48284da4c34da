"""What lies in a backup folder.

<folder>/
    blobs/<workspace>/<two digits>/<hash>   all backups' bytes, each written once
    2026-11-22T100000Z/                     a backup; it has this name once it is whole
        postgres/                           the cluster, with PostgreSQL's own manifest of checksums
        blobs.txt                           which bytes belong to it
        secrets.json                        what sealed credentials and sessions are opened with; mode 0600
        manifest.json
    2026-11-22T110000Z.partial/             one being made, or killed: the next one removes it
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
    """What a backup is; times in ISO 8601, by Postgres' clock."""

    schema_version: str
    kebab: str
    postgres: str
    system_identifier: str
    started_at: str
    #: From this time on the backup with the archive leads to any moment.
    ended_at: str
    #: Of PostgreSQL's log: the file in which a replay begins.
    first_wal: str
    blobs: int
    blob_bytes: int
    #: BLAKE3 of `blobs.txt` and of PostgreSQL's manifest, 64 hex digits.
    blob_list_hash: str
    base_hash: str
    #: Whether secrets.json is in it; else they are in the environment, and to be kept by whoever set it.
    has_secrets: bool
    #: Where what happened since is archived; empty: nowhere.
    archive: str

    @property
    def ended(self) -> datetime:
        """Return the time from which on it leads to any moment."""
        return datetime.fromisoformat(self.ended_at)


@dataclass(frozen=True, slots=True)
class Backup:
    """A whole backup."""

    path: Path
    manifest: Manifest

    @property
    def base(self) -> Path:
        """Return the cluster."""
        return self.path / "postgres"

    @property
    def blobs(self) -> Path:
        """Return the bytes, which all backups of the folder share."""
        return self.path.parent / "blobs"

    def blob_names(self) -> list[str]:
        """Return the names of the bytes that belong to it."""
        return (self.path / "blobs.txt").read_text(encoding="utf-8").split()


def backup_name(at: datetime) -> str:
    """Return the name of a backup that is made at a time."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H%M%S}Z"


def backups_in(folder: Path) -> list[Backup]:
    """Return the whole backups of a folder, the oldest first. Raises BackupFailed for a damaged manifest."""
    if not folder.is_dir():
        return []
    found = [each for each in folder.iterdir() if (each / "manifest.json").exists()]
    return [_read(each) for each in sorted(found) if each.suffix != PARTIAL]


def chosen(folder: Path, *, named: str = "", to: datetime | None = None) -> Backup:
    """Return the backup with a name, else the latest that had ended by a time. Raises BackupMissing."""
    backups = backups_in(folder)
    fits = [
        each
        for each in backups
        if (not named or each.path.name == named) and (to is None or each.manifest.ended <= to)
    ]
    if fits:
        return fits[-1]
    there = ", ".join(f"{each.path.name} (from {each.manifest.ended_at} on)" for each in backups) or "none"
    raise BackupMissing(f"{folder} has no backup that leads there; it has: {there}.")


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write a manifest into a backup."""
    text = json.dumps(asdict(manifest), indent=1)
    (path / "manifest.json").write_text(f"{text}\n", encoding="utf-8")


def _read(path: Path) -> Backup:
    try:
        written = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
        known = {each.name for each in fields(Manifest)}
        manifest = Manifest(**{name: value for name, value in written.items() if name in known})
    except (ValueError, TypeError, AttributeError) as error:
        raise BackupFailed(f"{path / 'manifest.json'} is damaged: {error}") from error
    if manifest.schema_version != SCHEMA_VERSION:
        raise BackupFailed(f"{path} is a {manifest.schema_version}; this version reads {SCHEMA_VERSION}.")
    return Backup(path, manifest)
