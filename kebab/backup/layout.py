"""The data directory of a restore: the cluster with its recovery settings, and secrets."""

import json
import os
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from kebab.backup.manifest import Backup
from kebab.runtime.durable_files import replace_text
from kebab.stack.servers.postgres_cluster import PostgresCluster
from kebab.stack.servers.wal_archive import restore_command

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
