"""Machines of a cluster: processes in one folder, on one loopback address, by the files of deploy/cluster."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import psutil

from kebab.stack.servers.os_user import database_account
from kebab.stack.servers.postgres_cluster import readable_install
from kebab.stack.servers.redis import find_server
from kebab.stack.supervisor.child import Child, ChildPlan
from tests.acceptance.deploy.servers_by_tcp import DEPLOY, find_program

PASSWORDS = {
    f"{name}_PASSWORD": f"{name.lower()}91c7" for name in ("SUPERUSER", "REPLICATION", "PATRONI", "REDIS")
}
ADDRESSES = {"db1": "127.0.77.1", "db2": "127.0.77.2", "db3": "127.0.77.3"}
_PACKAGES = {"etcd": "etcd-server", "patroni": "patroni", "haproxy": "haproxy"}
_FILL_LIMIT_S = 10.0


def missing_requirement() -> str | None:
    """Return a message about a missing program, with its package of Debian; None when all are there."""
    missing: list[str] = []
    for name, package in _PACKAGES.items():
        find_program(name, f"install Debian's {package}", missing.append)
    return "; ".join(missing) or None


def versions() -> dict[str, str]:
    """Return the first line that each server prints about its version."""
    servers = [*_PACKAGES, str(binaries() / "postgres"), str(find_server())]
    found = {}
    for server in servers:
        flag = "-v" if server == "haproxy" else "--version"
        command = [find_program(server, "", sys.exit), flag]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        found[Path(server).name] = lines[0]
    return found


class Machine:
    """A machine whose processes start and end together; it is found by their working directories."""

    def __init__(self, name: str, folder: Path, settings: Mapping[str, str], files: Sequence[str]) -> None:
        """Write the named files of deploy/cluster with the settings into a folder of its own."""
        self.name = name
        self.folder = folder / name
        self.folder.mkdir(mode=0o755)
        self._account = database_account("")
        self._own(self.folder)
        for file in files:
            place = self.folder / file
            place.write_text(_fill(file, settings))
            self._own(place)
        self._commands: dict[str, tuple[str, ...]] = {}
        self._children: dict[str, Child] = {}

    def add(self, name: str, *command: str) -> None:
        """Add a process that runs on it."""
        self._commands[name] = command

    def start(self, *names: str) -> None:
        """Start the named processes, or all that don't run."""
        for name in names or self._commands:
            if name in self._children and self._children[name].is_alive():
                continue
            plan = ChildPlan(
                name=name,
                command=self._commands[name],
                log=self.folder / f"{name}.log",
                account=self._account,
                folder=self.folder,
            )
            self._children[name] = Child(plan)
            self._children[name].spawn()

    def processes(self, pattern: str = "") -> list[psutil.Process]:
        """Return its processes, or those with a pattern in their command lines."""
        found = []
        for process in psutil.process_iter():
            try:
                if Path(process.cwd()).is_relative_to(self.folder) and pattern in " ".join(process.cmdline()):
                    found.append(process)
            except (psutil.Error, OSError):
                continue
        return found

    def freeze(self, pattern: str = "") -> None:
        """Stop its processes, or those with a pattern in their command lines, without ending them."""
        self._signal(signal.SIGSTOP, pattern)

    def thaw(self) -> None:
        """Let all its processes continue."""
        self._signal(signal.SIGCONT)

    def kill(self, pattern: str = "") -> None:
        """Kill its processes at once, or those with a pattern in their command lines."""
        self.freeze(pattern)
        self._signal(signal.SIGKILL, pattern)
        for child in self._children.values():
            if not pattern:
                child.wait()

    def _signal(self, number: signal.Signals, pattern: str = "") -> None:
        for process in self.processes(pattern):
            try:
                process.send_signal(number)
            except psutil.NoSuchProcess:
                continue

    def _own(self, path: Path) -> None:
        if self._account is not None:
            os.chown(path, self._account.uid, self._account.gid)


def database_machine(name: str, folder: Path) -> Machine:
    """Return a machine with etcd, Patroni, Redis and Sentinel, of which nothing runs yet."""
    own = folder / name
    settings = {
        **_settings(),
        "NAME": name,
        "ADDRESS": ADDRESSES[name],
        "REDIS_MASTER": "no one" if name == "db1" else f"{ADDRESSES['db1']} 6379",
        "POSTGRES_BIN": str(binaries()),
        "POSTGRES_DATA": str(own / "postgres"),
        "POSTGRES_SOCKETS": str(own),
        "ETCD_DATA": str(own / "etcd"),
        "REDIS_DATA": str(own),
    }
    machine = Machine(name, folder, settings, ("etcd.yml", "patroni.yml", "redis.conf", "sentinel.conf"))
    machine.add("etcd", find_program("etcd", "", sys.exit), "--config-file", str(own / "etcd.yml"))
    machine.add("patroni", find_program("patroni", "", sys.exit), str(own / "patroni.yml"))
    redis = str(find_server())
    machine.add("redis", redis, str(own / "redis.conf"))
    machine.add("sentinel", redis, str(own / "sentinel.conf"), "--sentinel")
    return machine


def proxy_machine(name: str, folder: Path, address: str) -> Machine:
    """Return the HAProxy of a machine of Kebab, which doesn't run yet."""
    machine = Machine(name, folder, {**_settings(), "PROXY": address}, ("haproxy.cfg",))
    machine.add(
        "haproxy", find_program("haproxy", "", sys.exit), "-db", "-f", str(machine.folder / "haproxy.cfg")
    )
    return machine


@cache
def binaries() -> Path:
    """Return the folder of PostgreSQL's programs."""
    return readable_install(database_account("")).binaries


def make_roles(address: str, passwords: Mapping[str, str]) -> None:
    """Create the roles and the database through a proxy, by the script of deploy/compose."""
    environment = {
        "PATH": f"{binaries()}:{os.environ['PATH']}",
        "PGHOST": address,
        "PGPORT": "5000",
        "PGPASSWORD": PASSWORDS["SUPERUSER_PASSWORD"],
        **passwords,
    }
    subprocess.run(["/bin/sh", str(DEPLOY / "compose" / "make-roles.sh")], env=environment, check=True)


def _settings() -> dict[str, str]:
    return {**PASSWORDS, "SYNCHRONOUS": "true", **{name.upper(): at for name, at in ADDRESSES.items()}}


def _fill(file: str, settings: Mapping[str, str]) -> str:
    command = ["/bin/sh", str(DEPLOY / "cluster" / "fill"), file]
    environment = {"PATH": os.environ["PATH"], **settings}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, timeout=_FILL_LIMIT_S
    ).stdout
