"""The listing of `kebab status`: the processes of all nodes, the queues and the reports of the apps."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import redis

from kebab.contributions import Row, contributions
from kebab.stack.configuration import EMBED_QUEUES, WORKER_QUEUES, StackConfiguration
from kebab.stack.nodes.registry import FRESH_S, processes_with_age
from kebab.stack.supervisor.state import running_state
from kebab.stack.supervisor.watchdog import queue_lengths


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRow:
    """One process; `heartbeat_age_s` is None for processes without a heartbeat (servers, supervisor)."""

    name: str
    role: str
    node: str
    pid: int
    is_alive: bool
    heartbeat_age_s: float | None = None
    slots: int | None = None
    busy: int | None = None
    queues: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The data of `kebab status`. `queues`: waiting messages by name, None when Redis does not answer."""

    node: str
    url: str
    is_running: bool
    processes: tuple[ProcessRow, ...]
    queues: dict[str, int] | None
    reports: dict[str, Sequence[Row]]

    def as_json(self) -> dict[str, Any]:
        """Return the document of `kebab status --json`."""
        return {"schema_version": "status.v1", **asdict(self)}


def build_listing(configuration: StackConfiguration) -> Listing:
    """Build the listing from the state file, Postgres, Redis and the apps; the servers have to run."""
    state = running_state(configuration.directory.path)
    heartbeat_rows = tuple(_process_rows())
    # With external servers there may be no supervisor: systemd units or containers run the processes.
    is_running = state is not None or (not configuration.has_embedded_postgres and bool(heartbeat_rows))
    return Listing(
        node=configuration.node_id,
        url="" if state is None else state.url,
        is_running=is_running,
        processes=(*server_rows(configuration), *heartbeat_rows),
        queues=_queue_lengths(configuration.redis_url),
        reports={name: report() for name, report in contributions("status_sections")},
    )


def server_rows(configuration: StackConfiguration) -> tuple[ProcessRow, ...]:
    """Return the supervisor and the embedded servers of this node; none when no stack runs here."""
    state = running_state(configuration.directory.path)
    if state is None:
        return ()
    servers = [(each.name, each.mark) for each in state.processes if each.name in {"postgres", "redis"}]
    return tuple(
        ProcessRow(name=name, role=name, node=state.node, pid=mark.pid, is_alive=mark.is_alive())
        for name, mark in [("supervisor", state.supervisor), *servers]
    )


def _process_rows() -> tuple[ProcessRow, ...]:
    rows = processes_with_age().order_by("node", "role", "name", "pid")
    return tuple(
        ProcessRow(
            name=row.name,
            role=row.role,
            node=row.node,
            pid=row.pid,
            is_alive=row.age.total_seconds() < FRESH_S,
            heartbeat_age_s=round(row.age.total_seconds(), 1),
            slots=row.slots,
            busy=row.busy,
            queues=tuple(row.queues),
        )
        for row in rows
    )


def _queue_lengths(redis_url: str) -> dict[str, int] | None:
    try:
        return queue_lengths(redis_url, (*WORKER_QUEUES, *EMBED_QUEUES))
    except redis.RedisError:
        return None
