"""The location and creation of the database cluster."""

import os
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

from kebab.runtime.durable_files import replace_text
from kebab.stack.errors import PathRefused, ServerFailed
from kebab.stack.paths import DataDirectory, create_folder
from kebab.stack.servers import secrets
from kebab.stack.servers.addresses import DATABASE_OWNER
from kebab.stack.servers.os_user import Account, database_account
from kebab.stack.servers.postgres_install import ensure_system_folder, readable_install
from kebab.stack.supervisor.child import Child, ChildPlan
from kebab.stack.supervisor.process_logs import log_tail

_INITDB_FLAGS = (
    f"--username={DATABASE_OWNER}",
    "--auth-local=trust",  # only we can enter the socket's folder
    "--auth-host=reject",
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--locale=C",
)
# Written to postgresql.conf once; an operator may change them there.
_DEFAULTS = {
    # Holds the HNSW index of 125,000 chunks (146 MB) and its rows: with 128 MB a search waited 33 ms for
    # pages instead of 5. Only used pages take memory.
    "shared_buffers": "512MB",
    "max_connections": "200",
    "maintenance_work_mem": "256MB",  # an HNSW build that does not fit in it is many times slower
    "random_page_cost": "1.1",
    "jit": "off",
    "huge_pages": "off",
    "synchronous_commit": "on",
    "max_wal_size": "1GB",
    "checkpoint_timeout": "15min",
    "log_checkpoints": "off",
    "log_line_prefix": "%m [%p] ",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresCluster:
    """A cluster's folder, the binaries that run it and the account that owns it (None: our own)."""

    folder: Path
    binaries: Path
    account: Account | None


def ensure_cluster(directory: DataDirectory, wanted_user: str) -> PostgresCluster:
    """Return the cluster of a data directory, created at first use; call it under the server's lock.

    Raises:
        PathRefused: no folder fits the user that Postgres has to run as.
        ServerMissing: the wheel with the binaries is not installed.
        ServerFailed: initdb ended with an error.
    """
    cluster = locate_cluster(directory, wanted_user)
    if cluster.folder.exists():
        _check_owner(cluster)
    else:
        _create(cluster, directory.logs / "initdb.log")
    return cluster


def locate_cluster(directory: DataDirectory, wanted_user: str) -> PostgresCluster:
    """Return the cluster of a data directory, which may not exist yet.

    Raises:
        PathRefused: no folder fits the user that Postgres has to run as.
        ServerMissing: the wheel with the binaries is not installed.
    """
    account = database_account(wanted_user)
    binaries = readable_install(account).binaries
    return PostgresCluster(folder=_choose_folder(directory, account), binaries=binaries, account=account)


def _choose_folder(directory: DataDirectory, account: Account | None) -> Path:
    """Return the folder in the data directory if possible, else one in root's folder, which is recorded."""
    if directory.postgres_location.exists():
        return Path(directory.postgres_location.read_text(encoding="utf-8").strip())
    if account is None or account.can_reach(directory.path):
        return directory.postgres
    if directory.postgres.exists():
        raise PathRefused(
            f"The user {account.name} cannot reach {directory.postgres} any more; let it walk through the "
            "folders above (chmod o+x), or set KEBAB_POSTGRES_USER."
        )
    # Not a hash of the path: a new data directory at an old path must not find the old database.
    folder = ensure_system_folder() / secrets.load_or_create(directory.path).stack_id
    create_folder(folder, 0o711)
    replace_text(directory.postgres_location, f"{folder / 'postgres'}\n")
    return folder / "postgres"


def _check_owner(cluster: PostgresCluster) -> None:
    expected = os.geteuid() if cluster.account is None else cluster.account.uid
    found = cluster.folder.stat().st_uid
    if found != expected:
        raise PathRefused(
            f"The database in {cluster.folder} belongs to user {found}, not {expected}; start the stack as "
            "the user who made it (as root: set KEBAB_POSTGRES_USER), or choose another KEBAB_DATA_DIR."
        )


def _create(cluster: PostgresCluster, log: Path) -> None:
    """Run initdb in a folder with a temporary name, so that an existing cluster is always complete."""
    fresh = cluster.folder.with_name(f"{cluster.folder.name}.new")
    if fresh.exists():
        shutil.rmtree(fresh)
    create_folder(fresh, 0o700)
    if cluster.account is not None:
        os.chown(fresh, cluster.account.uid, cluster.account.gid)
    initdb = Child(_initdb_plan(cluster, fresh, log))
    initdb.spawn()
    initdb.wait()
    if initdb.exit_status() != 0:
        raise ServerFailed(f"initdb ended with status {initdb.exit_status()}; {log} ends:\n{log_tail(log)}")
    fresh.rename(cluster.folder)


def _initdb_plan(cluster: PostgresCluster, fresh: Path, log: Path) -> ChildPlan:
    defaults = [f"--set={name}={value}" for name, value in _DEFAULTS.items()]
    return ChildPlan(
        name="initdb",
        command=(str(cluster.binaries / "initdb"), f"--pgdata={fresh}", *_INITDB_FLAGS, *defaults),
        log=log,
        death_signal=signal.SIGKILL,
        account=cluster.account,
        folder=Path("/"),  # the account may not be able to enter ours
    )
