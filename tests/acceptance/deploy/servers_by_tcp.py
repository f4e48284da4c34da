"""Postgres and Redis as in a deployment: by TCP, with passwords, and two roles from compose's script."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import psycopg
import redis
import yaml

from kebab.stack.servers.os_user import database_account
from kebab.stack.servers.postgres_cluster import readable_install
from kebab.stack.servers.redis import find_server
from kebab.stack.supervisor.child import Child, ChildPlan
from tests.support.paths import ROOT
from tests.support.stack import eventually, free_port

DEPLOY = ROOT / "deploy"
OWNER_PASSWORD, APP_PASSWORD, REDIS_PASSWORD = "owner0f7a", "app3c21", "redis99ab"
_LIMIT_S = 60.0


class TcpPostgres:
    """A cluster with superuser `postgres`, of the embedded release or of the one in `binaries`."""

    def __init__(self, folder: Path, binaries: Path | None = None) -> None:
        self._folder = folder
        self._account = database_account("")
        self.binaries = binaries or readable_install(self._account).binaries
        self.port = free_port()
        self._server: Child | None = None

    def url(self, role: str, password: str) -> str:
        """Return the database's URL for `role`."""
        return f"postgresql://{role}:{password}@127.0.0.1:{self.port}/kebab"

    def superuser(self) -> str:
        """Return the superuser's connection string, by socket."""
        return f"host={self._folder / 'cluster'} port={self.port} user=postgres dbname=kebab"

    def start(self) -> None:
        """Create the cluster and run it."""
        cluster = self._folder / "cluster"
        cluster.mkdir(mode=0o700)
        if self._account is not None:
            os.chown(cluster, self._account.uid, self._account.gid)
        data, socket = str(cluster / "data"), f"--unix_socket_directories={cluster}"
        auth = ("--auth-local=trust", "--auth-host=scram-sha-256", "--username=postgres", "--encoding=UTF8")
        initdb = Child(self._plan("initdb", f"--pgdata={data}", *auth, "--locale=C", "--no-sync"))
        initdb.spawn()
        assert initdb.wait(_LIMIT_S) and initdb.exit_status() == 0, (self._folder / "initdb.log").read_text()
        address = ("--listen_addresses=127.0.0.1", f"--port={self.port}")
        self._server = Child(self._plan("postgres", "-D", data, socket, *address, "--fsync=off"))
        self._server.spawn()
        eventually(self._answers, "Postgres answers", _LIMIT_S)

    def make_roles(self) -> None:
        """Create the roles and the database by compose's script."""
        passwords = {"KEBAB_OWNER_PASSWORD": OWNER_PASSWORD, "KEBAB_APP_PASSWORD": APP_PASSWORD}
        script = DEPLOY / "compose" / "make-roles.sh"
        environment = self.client_environment() | passwords
        subprocess.run(["/bin/sh", str(script)], env=environment, check=True, timeout=_LIMIT_S)

    def client_environment(self) -> dict[str, str]:
        """Return the environment in which `psql` is the superuser's."""
        path = f"{self.binaries}:{os.environ['PATH']}"
        host = str(self._folder / "cluster")
        return {"PATH": path, "PGHOST": host, "PGPORT": str(self.port), "PGUSER": "postgres"}

    def stop(self) -> None:
        """Kill the cluster, which is not used any more."""
        if self._server is not None:
            self._server.kill()

    def _plan(self, program: str, *arguments: str) -> ChildPlan:
        return ChildPlan(
            name=program,
            command=(str(self.binaries / program), *arguments),
            log=self._folder / f"{program}.log",
            account=self._account,
            folder=Path("/"),
        )

    def _answers(self) -> bool:
        try:
            psycopg.connect(f"host={self._folder / 'cluster'} port={self.port} user=postgres").close()
        except psycopg.OperationalError:
            return False
        return True


class TcpRedis:
    """Redis by the command of compose's service, with a port and a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "redis"
        self.port = free_port()
        self.url = f"redis://:{REDIS_PASSWORD}@127.0.0.1:{self.port}/0"
        self._server: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start Redis and wait for it."""
        self._folder.mkdir()
        server = self._folder / "redis-server"
        server.symlink_to(find_server())
        compose = yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text())
        shell, flag, script = compose["services"]["redis"]["command"]
        shell_script = script.replace("$$", "$").replace("dir /data", f"dir {self._folder}\nport {self.port}")
        environment = {"PATH": f"{self._folder}:{os.environ['PATH']}", "REDIS_PASSWORD": REDIS_PASSWORD}
        with (self._folder / "log").open("wb") as log:
            self._server = subprocess.Popen(
                [shell, flag, shell_script], env=environment, stdout=log, stderr=log
            )
        eventually(self._answers, "Redis answers", _LIMIT_S)

    def stop(self) -> None:
        """Stop Redis as a container is stopped, by SIGTERM to its first process."""
        if self._server is not None:
            self._server.terminate()
            self._server.wait(_LIMIT_S)

    def _answers(self) -> bool:
        try:
            with redis.Redis.from_url(self.url) as client:
                return client.config_get("appendonly") == {"appendonly": "yes"}
        except redis.RedisError:
            return False


def find_program(name: str, remedy: str, skip: Callable[[str], object]) -> str:
    """Return the path of a program of the machine; call `skip` with the remedy when it is missing."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    if found is None:
        skip(f"there is no {name} here; {remedy}")
    return found or ""
