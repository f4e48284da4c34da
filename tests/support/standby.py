"""A primary and its standby, copies of the suite's server, with which a module runs instead of that."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from django.db import connection

from kebab.stack.paths import DataDirectory
from kebab.stack.servers.addresses import DATABASE_OWNER
from kebab.stack.servers.postgres_cluster import PostgresCluster, locate_cluster
from kebab.stack.servers.rights_place import store_rights_place
from kebab.tenancy.postgres.base import database_breaker
from tests.support.stack import eventually

_OPTIONS = {"listen_addresses": "", "unix_socket_permissions": "0700", "shared_buffers": "32MB"}


class Server:
    """A server of its own, copied from another one while that runs."""

    def __init__(self, folder: Path, source: str, cluster: PostgresCluster, *, is_standby: bool) -> None:
        self._cluster = cluster
        self.folder, self.host = folder / "data", str(folder)
        account = cluster.account
        self._user = {} if account is None else {"user": account.uid, "group": account.gid}
        folder.mkdir()
        if account is not None:
            os.chown(folder, account.uid, account.gid)
        self._run(
            "pg_basebackup",
            *("--host", source, "--username", DATABASE_OWNER, "--pgdata", str(self.folder)),
            *("--checkpoint=fast", "--no-sync", "--no-manifest", *(["--write-recovery-conf"] * is_standby)),
        )
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = {**_OPTIONS, "unix_socket_directories": self.host}
        given = " ".join(f"-c {name}='{value}'" for name, value in options.items())
        log = str(self.folder / "log")
        self._run("pg_ctl", "--wait", "--pgdata", str(self.folder), "--log", log, "--options", given, "start")

    def kill(self) -> None:
        """End it as a crash does."""
        if (self.folder / "postmaster.pid").exists():
            self._run("pg_ctl", "--wait", "--mode=immediate", "--pgdata", str(self.folder), "stop")

    def ask(self, statement: str) -> Any:
        """Return the value of a statement run by the owner."""
        with psycopg.connect(host=self.host, user=DATABASE_OWNER, dbname="postgres", autocommit=True) as own:
            cursor = own.execute(statement)
            row = cursor.fetchone() if cursor.description else None
            return None if row is None else row[0]

    def wait_for(self, place: str) -> None:
        """Wait until this standby has replayed the log up to a place."""
        replayed = f"SELECT pg_last_wal_replay_lsn() >= '{place}'"
        eventually(lambda: self.ask(replayed), "the standby has replayed it", 30)

    def processes(self, name: str) -> list[psutil.Process]:
        """Return its processes of a kind, such as `walreceiver`."""
        postmaster = psutil.Process(int((self.folder / "postmaster.pid").read_text().split()[0]))
        return [each for each in postmaster.children() if name in " ".join(each.cmdline())]

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._cluster.binaries / program), *arguments]
        done = subprocess.run(
            command, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **self._user
        )
        assert done.returncode == 0, done.stderr


class Pair:
    """A primary and its standby."""

    def __init__(self, primary: Server, standby: Server) -> None:
        self.primary, self.standby = primary, standby
        #: The end of the primary's log, when it was last asked for.
        self.end = "0/0"

    def replicate(self) -> None:
        """Wait until the standby has replayed all that the primary has written, as a heartbeat says."""
        store_rights_place(is_change=False)
        self._note_end()
        self.standby.wait_for(self.end)

    def _note_end(self) -> None:
        self.end = self.primary.ask("SELECT pg_current_wal_flush_lsn()")

    @contextmanager
    def without_primary(self, *, closes: bool = True) -> Iterator[None]:
        """End the primary for the block, and wait until this process has noticed that it is back.

        Unless it `closes` the thread's connection, as the end of a request does, that is lost.
        """
        if closes:
            connection.close()
        self._note_end()
        received = f"SELECT pg_last_wal_receive_lsn() >= '{self.end}'"
        eventually(lambda: self.standby.ask(received), "the standby has received it", 30)
        self.primary.kill()
        try:
            yield
        finally:
            self.primary.start()
            connection.close()
            eventually(lambda: not database_breaker().is_open, "the primary is known to be back", 30)


@contextmanager
def running_pair(folder: Path) -> Iterator[Pair]:
    """Run a pair, and lead this process's connections to it."""
    from django.conf import settings

    cluster = locate_cluster(DataDirectory(settings.KEBAB_DATA_DIR), "")
    own = connection.settings_dict
    servers: list[Server] = []
    former = own["HOST"]
    folder.chmod(0o711)
    try:
        servers.append(Server(folder / "primary", former, cluster, is_standby=False))
        servers[0].ask("ALTER SYSTEM SET synchronous_commit = on")  # what is acknowledged outlives it
        servers[0].ask("SELECT pg_reload_conf()")
        servers.append(Server(folder / "standby", servers[0].host, cluster, is_standby=True))
        _connect_to(servers[0].host, servers[1].host)
        yield Pair(*servers)
    finally:
        _connect_to(former, None)
        for server in reversed(servers):
            server.kill()


def _connect_to(host: str, standby: str | None) -> None:
    connection.close()
    own = connection.settings_dict
    own["HOST"] = host
    own.pop("STANDBY", None)
    if standby is not None:
        own["STANDBY"] = {"HOST": standby}
    for pool in list(connection._connection_pools.values()):
        pool.close()
    connection._connection_pools.clear()


@pytest.fixture(scope="module")
def database_folder() -> Iterator[Path]:
    """Return a folder that the user of the database servers can reach."""
    with tempfile.TemporaryDirectory(prefix="kebab-pair-") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def pair(django_db_setup: None, django_db_blocker: Any, database_folder: Path) -> Iterator[Pair]:
    """Run a primary and its standby for the module, whose connections lead to them."""
    with django_db_blocker.unblock(), running_pair(database_folder) as found:
        yield found
