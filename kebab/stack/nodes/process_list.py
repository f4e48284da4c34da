"""The listing of `kebab status`: the processes of all nodes, the queues and the reports of the apps."""

from typing import Any, Final

import redis

from kebab.contributions import contributions
from kebab.stack.configuration import EMBED_QUEUES, WORKER_QUEUES, StackConfiguration
from kebab.stack.nodes.registry import FRESH_S, processes_with_age
from kebab.stack.supervisor.state import StackState, running_state
from kebab.stack.supervisor.watchdog import queue_lengths

# What the supervisor and the servers lack: they have no heartbeat.
_NO_HEARTBEAT: Final = {"heartbeat_age_s": None, "slots": None, "busy": None, "queues": ()}


def build_listing(configuration: StackConfiguration) -> dict[str, Any]:
    """Build the document of `kebab status --json` from the state file, Postgres, Redis and the apps.

    The servers have to run. `queues`: waiting messages by name, None when Redis does not answer.
    """
    state = running_state(configuration.directory.path)
    heartbeat_rows = _process_rows()
    # With external servers there may be no supervisor: systemd units or containers run the processes.
    is_running = state is not None or (not configuration.has_embedded_postgres and bool(heartbeat_rows))
    try:
        queues = queue_lengths(configuration.redis_url, (*WORKER_QUEUES, *EMBED_QUEUES))
    except redis.RedisError:
        queues = None
    return {
        "schema_version": "status.v1",
        "node": configuration.node_id,
        "url": "" if state is None else state.url,
        "is_running": is_running,
        "processes": [*([] if state is None else _server_rows(state)), *heartbeat_rows],
        "queues": queues,
        "reports": {name: report() for name, report in contributions("status_sections")},
    }


def _server_rows(state: StackState) -> list[dict[str, Any]]:
    """Return the supervisor and the embedded servers of this node."""
    servers = [(each.name, each.mark) for each in state.processes if each.name in {"postgres", "redis"}]
    return [
        {"name": name, "role": name, "node": state.node, "pid": mark.pid, "is_alive": mark.is_alive()}
        | _NO_HEARTBEAT
        for name, mark in [("supervisor", state.supervisor), *servers]
    ]


def _process_rows() -> list[dict[str, Any]]:
    return [
        {
            "name": row.name,
            "role": row.role,
            "node": row.node,
            "pid": row.pid,
            "is_alive": row.age.total_seconds() < FRESH_S,
            "heartbeat_age_s": round(row.age.total_seconds(), 1),
            "slots": row.slots,
            "busy": row.busy,
            "queues": row.queues,
        }
        for row in processes_with_age().order_by("node", "role", "name", "pid")
    ]
