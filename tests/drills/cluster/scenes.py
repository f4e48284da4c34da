"""Scenes of the drill: each is a fault in the cluster while clients write and search."""

import argparse
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

import httpx

from tests.drills.cluster.cluster import Cluster, Node
from tests.drills.cluster.judge import Scene, judge
from tests.drills.cluster.machines import ADDRESSES, Machine
from tests.drills.hosts.client import Exchange
from tests.drills.hosts.crowd import Crowd, hold
from tests.support.stack import eventually

_CALM_S, _AFTERWARDS_S = 8.0, 5.0
_PAUSE_S = 0.4
# Each has a client at each node.
_WRITERS = (("upload",), ("upload, waiting",))
_SEARCHERS = (("search",), ("lexical",))
# Longer than Patroni's lease, and than the statements' time limit.
_FREEZE_S, _STALL_S = 45.0, 35.0
_BEHIND_S, _MAJORITY_S, _PROXY_S = 5.0, 30.0, 5.0
_WORKS_LIMIT_S = 180.0
_RECEIVER = "walreceiver"


def kill_primary(cluster: Cluster) -> None:
    """Kill the primary's machine, with its etcd, Redis and Sentinel."""
    former = cluster.primary()
    former.kill()
    cluster.await_other_primary(former)


def kill_two_primaries(cluster: Cluster) -> None:
    """Kill the primary's machine, and its successor once the first is back."""
    kill_primary(cluster)
    cluster.heal()
    kill_primary(cluster)


def freeze_primary(cluster: Cluster) -> None:
    """Freeze the primary's machine for a while, and let it continue beside its successor."""
    _freeze(cluster.primary(), "", _FREEZE_S)


def freeze_patroni(cluster: Cluster) -> None:
    """Freeze Patroni alone for a while: its PostgreSQL takes writes beside the new primary."""
    _freeze(cluster.primary(), "patroni.yml", _FREEZE_S)


def switch_over(cluster: Cluster) -> None:
    """Make a standby the primary, as for maintenance."""
    former = cluster.primary()
    candidate = cluster.standbys()[0].name
    cluster.ask_patroni("POST", "/switchover", json={"leader": former.name, "candidate": candidate})
    cluster.await_other_primary(former)


def kill_postgres(cluster: Cluster) -> None:
    """Kill PostgreSQL on the primary's machine; Patroni starts it again or gives way."""
    cluster.primary().kill("postgres")


def kill_standby(cluster: Cluster) -> None:
    """Kill the synchronous standby's machine."""
    cluster.standbys()[0].kill()


def stall_standby(cluster: Cluster) -> None:
    """Freeze the synchronous standby's machine, then kill it."""
    standby = cluster.standbys()[0]
    _freeze(standby, "", _STALL_S, thaws=False)
    standby.kill()


def stall_receiver(cluster: Cluster) -> None:
    """Freeze the receiver of the synchronous standby alone, then kill the primary's machine."""
    _freeze(cluster.standbys()[0], _RECEIVER, _STALL_S)
    kill_primary(cluster)


def kill_behind(cluster: Cluster) -> None:
    """Kill the primary's machine while both standbys are seconds behind."""
    standbys = cluster.standbys()
    for standby in standbys:
        standby.freeze(_RECEIVER)
    hold(_BEHIND_S)
    former = cluster.primary()
    former.kill()
    for standby in standbys:
        # What its socket has received already must not be read.
        for receiver in standby.processes(_RECEIVER):
            receiver.terminate()
        standby.thaw()
    cluster.await_other_primary(former)


def kill_etcd_leader(cluster: Cluster) -> None:
    """Kill etcd where it leads."""
    _etcd_leader(cluster).kill("etcd.yml")


def kill_etcd_majority(cluster: Cluster) -> None:
    """Kill two etcds of three for a while: Patroni's failsafe mode has to keep the primary."""
    for standby in cluster.standbys():
        standby.kill("etcd.yml")
    hold(_MAJORITY_S)


def kill_redis(cluster: Cluster) -> None:
    """Kill the master of Redis: Sentinel chooses another."""
    for machine in cluster.databases.values():
        if cluster.is_redis_master(machine):
            machine.kill(":6379")
    eventually(
        lambda: any(map(cluster.is_redis_master, cluster.databases.values())), "there is a master of Redis"
    )


def kill_proxy(cluster: Cluster) -> None:
    """Kill the HAProxy of a node for a few seconds."""
    proxy = cluster.nodes[0].proxy
    proxy.kill()
    hold(_PROXY_S)
    proxy.start()


def kill_node(cluster: Cluster) -> None:
    """Kill a node of Kebab."""
    cluster.nodes[1].kill()


def cut_power(cluster: Cluster) -> None:
    """Kill all machines of databases at once, and start them again."""
    for machine in cluster.databases.values():
        machine.freeze()
    for machine in cluster.databases.values():
        machine.kill()
    for machine in cluster.databases.values():
        machine.start()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A fault under one kind of replication."""

    fault: Callable[[Cluster], None]
    is_synchronous: bool = True
    victim: str = ""


#: The scenes by name, in order.
SCENES: Mapping[str, Plan] = {
    "primary killed": Plan(fault=kill_primary),
    "two primaries killed": Plan(fault=kill_two_primaries),
    "primary frozen": Plan(fault=freeze_primary),
    "Patroni frozen": Plan(fault=freeze_patroni),
    "switchover": Plan(fault=switch_over),
    "PostgreSQL killed": Plan(fault=kill_postgres),
    "standby killed": Plan(fault=kill_standby),
    "standby stalled": Plan(fault=stall_standby),
    "receiver stalled": Plan(fault=stall_receiver),
    "etcd leader killed": Plan(fault=kill_etcd_leader),
    "etcd majority killed": Plan(fault=kill_etcd_majority),
    "Redis killed": Plan(fault=kill_redis),
    "HAProxy killed": Plan(fault=kill_proxy),
    "node killed": Plan(fault=kill_node, victim="b"),
    "power cut": Plan(fault=cut_power),
    "async, primary killed": Plan(fault=kill_primary, is_synchronous=False),
    "async, killed behind": Plan(fault=kill_behind, is_synchronous=False),
    "async, Patroni frozen": Plan(fault=freeze_patroni, is_synchronous=False),
}


def play(cluster: Cluster, name: str, options: argparse.Namespace) -> None:
    """Play a scene while clients write and search on both nodes, and judge it."""
    plan = SCENES[name]
    cluster.heal()
    cluster.replicate(synchronously=plan.is_synchronous)
    with ExitStack() as endings:
        writers, searchers = (
            [endings.enter_context(_crowd(cluster, kinds)) for kinds in crowds]
            for crowds in (_WRITERS, _SEARCHERS)
        )
        hold(_CALM_S)
        plan.fault(cluster)
        if not plan.victim:
            _await_service(cluster, writers, searchers)
        cluster.heal()
        _await_service(cluster, writers, searchers)
        hold(_AFTERWARDS_S)
    scene = Scene(
        is_synchronous=plan.is_synchronous,
        victim=plan.victim,
        writes=_exchanges(writers),
        searches=_exchanges(searchers),
    )
    judge(cluster, scene, options)


def _crowd(cluster: Cluster, kinds: tuple[str, ...]) -> Crowd:
    return Crowd([cluster.client(node) for node in cluster.nodes], kinds, pause_s=_PAUSE_S)


def _exchanges(crowds: list[Crowd]) -> list[Exchange]:
    return [exchange for crowd in crowds for exchange in crowd.exchanges]


def _await_service(cluster: Cluster, *sides: list[Crowd]) -> None:
    """Wait until both nodes answer writers and searchers that begin from now on."""
    since_s = time.monotonic()
    eventually(
        lambda: all(_serves(node, _exchanges(side), since_s) for node in cluster.nodes for side in sides),
        "both nodes answer writers and searchers again",
        _WORKS_LIMIT_S,
    )


def _serves(node: Node, exchanges: list[Exchange], since_s: float) -> bool:
    return any(each.is_done and each.node == node.name and each.began_s > since_s for each in exchanges)


def _freeze(machine: Machine, pattern: str, seconds: float, *, thaws: bool = True) -> None:
    machine.freeze(pattern)
    hold(seconds)
    if thaws:
        machine.thaw()


def _etcd_leader(cluster: Cluster) -> Machine:
    for name, address in ADDRESSES.items():
        status = httpx.post(f"http://{address}:2379/v3/maintenance/status", json={}, timeout=5).json()
        if status["leader"] == status["header"]["member_id"]:
            return cluster.databases[name]
    raise RuntimeError("There is no leader of etcd.")
