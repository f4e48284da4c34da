"""The database host: PostgreSQL and Redis over TCP, each on an address of its own, with passwords."""

import os
import secrets
import signal
import subprocess
from pathlib import Path

import psycopg
from psycopg import sql

from kebab.stack.servers.addresses import DATABASE_APPLICATION, DATABASE_NAME, DATABASE_OWNER
from kebab.stack.servers.os_user import Account, database_account
from kebab.stack.servers.postgres_cluster import readable_install
from kebab.stack.servers.redis import find_server
from kebab.stack.supervisor.child import ChildPlan, launch_command
from tests.drills.hosts.network import BACK, Host
from tests.support.stack import eventually

_POSTGRES, _REDIS = 1, 2
_STOP_LIMIT_S = 20
_SETTINGS = {"fsync": "off", "max_connections": "200", "log_line_prefix": "%m [%p] "}


class DatabaseHost:
    """Runs both servers until `stop`. Postgres' own user must be able to traverse `folder`."""

    def __init__(self, folder: Path) -> None:
        self.host = Host("db", _POSTGRES)
        self.host.join(BACK, _REDIS)
        self.postgres = self.host.address(BACK)
        self.redis = self.postgres.rpartition(".")[0] + f".{_REDIS}"
        self._folder = folder
        self._passwords = {name: secrets.token_hex(16) for name in ("owner", "application", "redis")}
        self._account = None if _has_one_user() else database_account("")
        self._servers: list[subprocess.Popen[bytes]] = []

    @property
    def environment(self) -> dict[str, str]:
        """Return the settings that tell a node the servers' addresses."""
        at = f"{self.postgres}:5432/{DATABASE_NAME}"
        return {
            "DATABASE_URL": f"postgresql://{DATABASE_APPLICATION}:{self._passwords['application']}@{at}",
            "KEBAB_OWNER_DATABASE_URL": f"postgresql://{DATABASE_OWNER}:{self._passwords['owner']}@{at}",
            "REDIS_URL": f"redis://:{self._passwords['redis']}@{self.redis}:6379/0",
        }

    def start(self) -> None:
        """Create the cluster, the roles and the database, and start the servers."""
        self._folder.mkdir(mode=0o755)
        cluster = self._folder / "postgres"
        cluster.mkdir(mode=0o700)
        words = self._folder / "password"
        words.write_text(self._passwords["owner"])
        if self._account is not None:
            for path in (self._folder, cluster, words):
                _change_owner(path, self._account)
        binaries = readable_install(self._account).binaries
        self._spawn("initdb", _initdb(binaries, cluster, words)).wait()
        with (cluster / "pg_hba.conf").open("a") as rules:
            rules.write("host all all samenet scram-sha-256\n")
        self._servers = [
            self._spawn("redis", self._redis_command()),
            self._spawn("postgres", self._postgres_command(binaries, cluster)),
        ]
        eventually(self._answers, "Postgres answers")
        self._settle()

    def stop(self) -> None:
        """Stop both servers and the host."""
        for server in self._servers:
            server.send_signal(signal.SIGINT)  # for Postgres a fast shutdown, whoever is connected
        for server in self._servers:
            server.wait(_STOP_LIMIT_S)
        self.host.end()

    def connect(self, database: str = DATABASE_NAME) -> psycopg.Connection:
        """Return an owner's connection that bypasses the network and sees all workspaces."""
        return psycopg.connect(
            host=str(self._folder),
            user=DATABASE_OWNER,
            dbname=database,
            autocommit=True,
            options="-c kebab.workspace_id=*",
        )

    def _spawn(self, name: str, command: list[str]) -> "subprocess.Popen[bytes]":
        # Postgres refuses to run as root, also as that of a user namespace: there it gets another one.
        becoming = ["unshare", "--user", "--map-user=1000", "--map-group=1000"] if _has_one_user() else []
        account = self._account if name != "redis" else None
        log = self._folder / f"{name}.log"
        plan = ChildPlan(name=name, command=tuple(command), log=log, account=account)
        with log.open("ab") as output:
            started = self.host.inside([*becoming, *launch_command(plan)])
            return subprocess.Popen(started, stdout=output, stderr=output, cwd="/")

    def _redis_command(self) -> list[str]:
        settings = {
            "bind": self.redis,
            "port": "6379",
            "requirepass": self._passwords["redis"],
            "dir": str(self._folder),
            "appendonly": "no",
            "save": "",
        }
        options = [part for name, value in settings.items() for part in (f"--{name}", value)]
        return [str(find_server()), *options]

    def _postgres_command(self, binaries: Path, cluster: Path) -> list[str]:
        where = {"listen_addresses": self.postgres, "unix_socket_directories": str(self._folder)}
        options = [part for name, value in (where | _SETTINGS).items() for part in ("-c", f"{name}={value}")]
        return [str(binaries / "postgres"), "-D", str(cluster), *options]

    def _answers(self) -> bool:
        try:
            self.connect("postgres").close()
        except psycopg.OperationalError:
            return False
        return True

    def _settle(self) -> None:
        role = sql.Identifier(DATABASE_APPLICATION)
        word = sql.Literal(self._passwords["application"])
        with self.connect("postgres") as connection:
            connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(role, word))
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE_NAME)))
        with self.connect() as connection:
            connection.execute("CREATE EXTENSION vector")


def _initdb(binaries: Path, cluster: Path, words: Path) -> list[str]:
    return [
        str(binaries / "initdb"),
        f"--pgdata={cluster}",
        f"--username={DATABASE_OWNER}",
        f"--pwfile={words}",
        "--auth-local=trust",
        "--auth-host=scram-sha-256",
        "--encoding=UTF8",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--locale=C",
        "--no-sync",
    ]


def _has_one_user() -> bool:
    """Return whether root is the only user of this user namespace."""
    _, _, users = Path("/proc/self/uid_map").read_text().split()[:3]
    return int(users) == 1


def _change_owner(path: Path, account: Account) -> None:
    os.chown(path, account.uid, account.gid)
