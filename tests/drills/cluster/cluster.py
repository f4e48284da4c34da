"""The cluster of a drill: three machines of databases, and two of Kebab with a HAProxy each."""

import contextlib
import json
import os
import secrets
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import redis

from tests.drills.cluster.machines import (
    ADDRESSES,
    PASSWORDS,
    Machine,
    database_machine,
    make_roles,
    proxy_machine,
)
from tests.drills.hosts.client import Client
from tests.drills.hosts.report import Report
from tests.support.stack import PATIENCE, Stack, eventually, temporary_directory

_SLUG = "cluster"
_NODES = {"a": "127.0.77.11", "b": "127.0.77.12"}
_ROLES = {"KEBAB_OWNER_PASSWORD": "owner0f7a", "KEBAB_APP_PASSWORD": "app3c21"}
_ANSWER_LIMIT_S = 3.0
_WHOLE_LIMIT_S = 180.0


class Node(Stack):
    """A node of Kebab that reaches its servers by the HAProxy beside it, with the default time limits."""

    def __init__(self, name: str, proxy: Machine, folder: Path, settings: dict[str, str]) -> None:
        self.name = name
        self.proxy = proxy
        super().__init__(folder / f"node-{name}", KEBAB_NODE_ID=f"node-{name}", **settings)
        for setting in PATIENCE:
            del self.environment[setting]

    def kill(self) -> None:
        """Kill all its processes, which end with their supervisor."""
        os.kill(self.pids()["supervisor"], signal.SIGKILL)


class Cluster:
    """Everything that a scene needs."""

    def __init__(self, folder: Path, report: Report, *, reads_from_standbys: bool) -> None:
        self.report = report
        self.databases = {name: database_machine(name, folder) for name in ADDRESSES}
        proxies = {name: proxy_machine(f"proxy-{name}", folder, at) for name, at in _NODES.items()}
        shared = _settings(folder)
        self.nodes = [
            Node(name, proxies[name], folder, {**shared, **_servers(at, reads_from_standbys)})
            for name, at in _NODES.items()
        ]
        self.token = ""
        self._is_synchronous = True

    @property
    def machines(self) -> list[Machine]:
        """Return the machines of databases, and the proxies."""
        return [*self.databases.values(), *(node.proxy for node in self.nodes)]

    def start(self) -> None:
        """Start everything, with an empty workspace."""
        for machine in self.machines:
            machine.start()
        eventually(self.is_whole, "the cluster is whole", _WHOLE_LIMIT_S)
        make_roles(_NODES["a"], _ROLES)
        for node in self.nodes:
            node.spawn()
        self.heal()
        self.nodes[0].run_command("workspace", "create", _SLUG)
        scopes = ("--workspace", _SLUG, "--scope", "search,ingest")
        self.token = self.nodes[0].run_command("token", "create", *scopes)["token"]

    def stop(self) -> None:
        """End everything."""
        for node in self.nodes:
            node.stop()
        for machine in self.machines:
            machine.kill()

    def client(self, node: Node) -> Client:
        """Return a client of a node."""
        return Client(node=node, slug=_SLUG, token=self.token)

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query on the primary, as the tables' owner."""
        url = _url("owner", _NODES["a"], 5000)
        with psycopg.connect(url, options="-c kebab.workspace_id=*") as connection:
            return connection.execute(query, values).fetchall()

    def lost_ranges(self) -> list[tuple[int, int]]:
        """Return the ranges of changes that the nodes have listed as perhaps lost."""
        with redis.Redis(host=_NODES["a"], password=PASSWORDS["REDIS_PASSWORD"]) as client:
            listed = [json.loads(each) for each in client.zrange("kebab:lost", 0, -1)]
        return [(first, last) for subject, first, last, *_ in listed if subject != "rights"]

    def members(self) -> dict[str, dict[str, Any]]:
        """Return Patroni's view of the machines by name, from the first that answers."""
        for address in ADDRESSES.values():
            with contextlib.suppress(httpx.HTTPError, ValueError):
                answer = httpx.get(f"http://{address}:8008/cluster", timeout=_ANSWER_LIMIT_S)
                return {member["name"]: member for member in answer.json()["members"]}
        return {}

    def leader(self) -> Machine | None:
        """Return the machine that Patroni calls the leader and that runs; None when there is none."""
        for name, member in self.members().items():
            if member["role"] == "leader" and _runs(member):
                return self.databases[name]
        return None

    def primary(self) -> Machine:
        """Return the machine of the primary, waiting until there is one."""
        eventually(self.leader, "there is a primary", _WHOLE_LIMIT_S)
        found = self.leader()
        return self.primary() if found is None else found

    def standbys(self) -> list[Machine]:
        """Return the other machines, the synchronous standby first."""
        roles = {name: member["role"] for name, member in self.members().items()}
        names = [name for name in roles if roles[name] != "leader"]
        return [
            self.databases[name] for name in sorted(names, key=lambda name: roles[name] != "sync_standby")
        ]

    def await_other_primary(self, former: Machine) -> None:
        """Wait until another machine is the primary."""
        eventually(lambda: self.leader() not in {None, former}, "another primary", _WHOLE_LIMIT_S)

    def heal(self) -> None:
        """Let everything run again, and wait until the cluster is whole."""
        for machine in self.machines:
            machine.thaw()
            machine.start()
        for node in self.nodes:
            if node.is_ended:
                node.spawn()
        eventually(self.is_whole, "the cluster is whole", _WHOLE_LIMIT_S)
        eventually(lambda: all(node.is_ready() for node in self.nodes), "both nodes serve", _WHOLE_LIMIT_S)

    def is_whole(self) -> bool:
        """Return whether all machines run on one timeline and have all that the primary has."""
        members = self.members()
        roles = [member["role"] for member in members.values()]
        return (
            len(members) == len(ADDRESSES)
            and all(_runs(member) and member.get("lag", 0) == 0 for member in members.values())
            and len({member.get("timeline") for member in members.values()}) == 1
            and "leader" in roles
            and ("sync_standby" in roles) is self._is_synchronous
        )

    def replicate(self, *, synchronously: bool) -> None:
        """Choose the replication, and wait until it is so."""
        self._is_synchronous = synchronously
        self.ask_patroni("PATCH", "/config", json={"synchronous_mode": synchronously})
        eventually(self.is_whole, "the cluster is whole", _WHOLE_LIMIT_S)

    def is_redis_master(self, machine: Machine) -> bool:
        """Return whether the Redis of a machine answers as a master."""
        with contextlib.suppress(redis.RedisError):
            address, password = ADDRESSES[machine.name], PASSWORDS["REDIS_PASSWORD"]
            with redis.Redis(host=address, password=password, socket_timeout=_ANSWER_LIMIT_S) as client:
                return client.info("replication")["role"] == "master"
        return False

    def ask_patroni(self, method: str, path: str, **options: Any) -> None:
        """Send a request to the primary's Patroni."""
        address = ADDRESSES[self.primary().name]
        auth = ("patroni", PASSWORDS["PATRONI_PASSWORD"])
        answer = httpx.request(method, f"http://{address}:8008{path}", auth=auth, timeout=60, **options)
        answer.raise_for_status()


def _runs(member: dict[str, Any]) -> bool:
    return member["state"] in {"running", "streaming"}


def _settings(folder: Path) -> dict[str, str]:
    blobs = folder / "blobs"
    blobs.mkdir(mode=0o700)
    return {
        "KEBAB_EMBEDDER": "hash",
        "KEBAB_SECRET_KEY": secrets.token_hex(32),
        "KEBAB_ENCRYPTION_KEYS": "",
        "KEBAB_BLOBS_URL": blobs.as_uri(),
        "KEBAB_WEB_WORKERS": "1",
    }


def _servers(proxy: str, reads_from_standbys: bool) -> dict[str, str]:
    servers = {
        "DATABASE_URL": _url("app", proxy, 5000),
        "KEBAB_OWNER_DATABASE_URL": _url("owner", proxy, 5000),
        "REDIS_URL": f"redis://:{PASSWORDS['REDIS_PASSWORD']}@{proxy}:6379/0",
    }
    return servers | ({"KEBAB_DATABASE_READ_URL": _url("app", proxy, 5001)} if reads_from_standbys else {})


def _url(role: str, proxy: str, port: int) -> str:
    password = _ROLES[f"KEBAB_{role.upper()}_PASSWORD"]
    return f"postgresql://kebab_{role}:{password}@{proxy}:{port}/kebab"


@contextlib.contextmanager
def running_cluster(report: Report, *, reads_from_standbys: bool) -> Iterator[Cluster]:
    """Run a cluster during the block."""
    folder = temporary_directory()
    with contextlib.ExitStack() as endings:
        endings.callback(shutil.rmtree, folder, ignore_errors=True)
        cluster = Cluster(folder, report, reads_from_standbys=reads_from_standbys)
        endings.callback(cluster.stop)
        cluster.start()
        yield cluster
