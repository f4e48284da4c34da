"""The embedded PostgreSQL 18 with pgvector, run directly from its binaries."""

import os
import signal
import time
from pathlib import Path

import psutil
import psycopg
from psycopg import sql

from kebab.stack.errors import ServerFailed
from kebab.stack.paths import create_folder
from kebab.stack.servers.addresses import (
    DATABASE_APPLICATION,
    DATABASE_NAME,
    DATABASE_OWNER,
    POSTGRES_PORT,
    postgres_socket_folder,
)
from kebab.stack.servers.embedded_server import EmbeddedServer
from kebab.stack.servers.postgres_cluster import PostgresCluster, ensure_cluster
from kebab.stack.supervisor.child import ChildPlan
from kebab.stack.supervisor.process_id import ProcessIdentity

_CONNECT_LIMIT_S = 2
_ORPHAN_PATIENCE_S = 10.0
# Backends of a killed postmaster end within moments; until then they use its shared memory.
_LEFTOVER_LIMIT_S = 20.0


class EmbeddedPostgres(EmbeddedServer):
    """PostgreSQL on a socket in a private folder, with the database `kebab` and the extension `vector`.

    As root it runs as `user`, else as `postgres` or `nobody`.
    """

    name = "postgres"

    def __init__(self, data_dir: Path, *, runtime_dir: str = "", user: str = "") -> None:
        super().__init__(data_dir, runtime_dir=runtime_dir)
        self._user = user

    @property
    def socket_folder(self) -> Path:
        """Return the folder of the socket: libpq's `host`."""
        return postgres_socket_folder(self.directory.path, self.runtime_dir)

    @property
    def stop_signals(self) -> tuple[signal.Signals, ...]:
        """Return the signals for fast shutdown, immediate shutdown, kill."""
        return (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL)

    def plan(self) -> ChildPlan:
        """Create the cluster if needed, end an old postmaster, and return the plan of the new one."""
        cluster = ensure_cluster(self.directory, self._user)
        _terminate_old_postmaster(cluster.folder, self.stop_signals)
        self._create_socket_folder(cluster)
        return ChildPlan(
            name=self.name,
            command=_postmaster_command(cluster, self.socket_folder),
            log=self.log,
            stop_signal=signal.SIGINT,
            death_signal=signal.SIGINT,
            account=cluster.account,
            folder=Path("/"),  # the account may not be able to enter ours
        )

    def is_answering(self) -> bool:
        """Return whether it accepts connections; during crash recovery it does not yet."""
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True

    def set_up(self) -> None:
        """Create the application's role, the database and its extension if they are missing."""
        with self.connect() as connection:
            _create_application_role(connection)
            found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE_NAME])
            if found.fetchone() is None:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE_NAME)))
        with self.connect(DATABASE_NAME) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")

    def connect(self, database: str = "postgres") -> psycopg.Connection:
        """Connect as the owner. Raises psycopg.OperationalError."""
        return psycopg.connect(
            host=str(self.socket_folder),
            port=POSTGRES_PORT,
            user=DATABASE_OWNER,
            dbname=database,
            connect_timeout=_CONNECT_LIMIT_S,
            autocommit=True,
        )

    def _create_socket_folder(self, cluster: PostgresCluster) -> None:
        create_folder(self.socket_folder, 0o700)
        if cluster.account is not None:
            # Safe: it is in the runtime directory, where only we can create files.
            os.chown(self.socket_folder, cluster.account.uid, cluster.account.gid)


def _create_application_role(connection: psycopg.Connection) -> None:
    """Create or alter the role that can neither create objects nor bypass row-level security."""
    role = sql.Identifier(DATABASE_APPLICATION)
    found = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [DATABASE_APPLICATION])
    verb = sql.SQL("CREATE" if found.fetchone() is None else "ALTER")
    rights = sql.SQL("LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION")
    connection.execute(sql.SQL("{} ROLE {} {}").format(verb, role, rights))


def _postmaster_command(cluster: PostgresCluster, socket_folder: Path) -> tuple[str, ...]:
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": str(socket_folder),
        "unix_socket_permissions": "0700",
        "port": str(POSTGRES_PORT),
        "logging_collector": "off",
    }
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    return (str(cluster.binaries / "postgres"), "-D", str(cluster.folder), *options)


def _terminate_old_postmaster(cluster: Path, signals: tuple[signal.Signals, ...]) -> None:
    """Clear the leftovers of a killed stack: a running postmaster, its backends, a stale pid file."""
    pid_file = cluster / "postmaster.pid"
    pid = _read_pid(pid_file)
    if pid is None:
        return
    mark = ProcessIdentity.of(pid)
    if mark is not None and _is_postgres_of(pid, cluster):
        mark.terminate(signals, grace_s=_ORPHAN_PATIENCE_S)
    elif mark is not None:
        # Another process got the pid. Postgres would take it for its postmaster and refuse to start.
        pid_file.unlink()
    _wait_for_backends(cluster)


def _wait_for_backends(cluster: Path) -> None:
    deadline = time.monotonic() + _LEFTOVER_LIMIT_S
    while leftovers := [
        process.pid for process in psutil.process_iter() if _is_postgres_of(process.pid, cluster)
    ]:
        if time.monotonic() > deadline:
            raise ServerFailed(f"Processes {leftovers} of an earlier Postgres still use {cluster}; end them.")
        time.sleep(0.05)


def _read_pid(pid_file: Path) -> int | None:
    try:
        return int(pid_file.read_text(encoding="utf-8").split("\n")[0])
    except (FileNotFoundError, ValueError):
        return None


def _is_postgres_of(pid: int, cluster: Path) -> bool:
    """Return whether a process is a Postgres of this cluster, by its working directory."""
    try:
        process = psutil.Process(pid)
        return process.name() == "postgres" and Path(process.cwd()).samefile(cluster)
    except (psutil.Error, OSError):
        return False
