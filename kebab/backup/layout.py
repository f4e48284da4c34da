"""What a restore puts into a data directory: the cluster with the way it is to go, and secrets."""

import json
import os
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from kebab.backup.manifest import Backup
from kebab.stack.paths import replace_text
from kebab.stack.servers.postgres_cluster import PostgresCluster
from kebab.stack.servers.wal_archive import restore_command

#: PostgreSQL's settings that say where a replay goes; nobody needs them after it.
RECOVERY_SETTINGS = (
    "restore_command",
    "recovery_target",
    "recovery_target_time",
    "recovery_target_timeline",
    "recovery_target_action",
)
# Of the backup's secrets these two are taken: what it has sealed and signed. The others are the machine's.
_TAKEN = ("secret_key", "encryption_key")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to come back to."""

    #: The name of a backup; empty: the latest that leads there.
    backup: str = ""
    #: The moment; None: the backup's own end, or with `is_latest` all that was archived.
    to: datetime | None = None
    is_latest: bool = False
    #: Where what happened since is archived; None: where the backup says.
    archive: Path | None = None
    #: Of several branches (PostgreSQL's timelines) which: the backup's own, the latest, or one by its number.
    timeline: str = "current"


def recovery_settings(wanted: Wanted, archive: Path | None) -> dict[str, str]:
    """PostgreSQL's settings for the way there; it always ends on a timeline of its own."""
    fetch = "exit 1" if archive is None else restore_command(archive)
    if wanted.to is not None:
        moment = wanted.to.astimezone(UTC).isoformat(sep=" ")
        return {
            "restore_command": fetch,
            "recovery_target_time": moment,
            "recovery_target_timeline": wanted.timeline,
        }
    if wanted.is_latest:
        return {"restore_command": fetch, "recovery_target_timeline": wanted.timeline}
    # No later timeline than the backup's has anything to say about its own end.
    return {
        "restore_command": fetch,
        "recovery_target": "immediate",
        "recovery_target_timeline": "current",
    }


def place_cluster(backup: Backup, cluster: PostgresCluster, recovery: dict[str, str]) -> None:
    """Copy the cluster under a temporary name, so that one that exists is whole."""
    fresh = cluster.folder.with_name(f"{cluster.folder.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    shutil.copytree(backup.base, fresh, symlinks=True)
    settings = {**recovery, "recovery_target_action": "promote"}
    with (fresh / "postgresql.auto.conf").open("a", encoding="utf-8") as written:
        written.writelines(f"{name} = {_quoted(value)}\n" for name, value in settings.items())
    (fresh / "recovery.signal").touch()
    fresh.chmod(0o700)
    if cluster.account is not None:
        for path in (fresh, *fresh.rglob("*")):
            os.chown(path, cluster.account.uid, cluster.account.gid, follow_symlinks=False)
    fresh.rename(cluster.folder)


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def place_secrets(backup: Backup, path: Path) -> None:
    """Take over what opens and signs; a data directory whose secrets are in the environment has none."""
    if not backup.manifest.has_secrets or not path.exists():
        return
    own = json.loads(path.read_text(encoding="utf-8"))
    kept = json.loads((backup.path / "secrets.json").read_text(encoding="utf-8"))
    taken = {name: kept[name] for name in _TAKEN if name in kept}
    replace_text(path, json.dumps({**own, **taken}, indent=1) + "\n")
