"""Registry of nodes, known only by the heartbeats of their processes."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from django.db.models import DurationField, ExpressionWrapper, F, QuerySet
from django.db.models.functions import Now

from kebab.errors import Conflict, NotFound
from kebab.stack.models import StackProcess
from kebab.stack.nodes.heartbeat import FRESH_S


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """A node, as known by its processes."""

    node: str
    processes: int
    roles: tuple[str, ...]
    #: Whether any of its processes has a fresh heartbeat.
    is_alive: bool
    #: Age of the latest heartbeat.
    heartbeat_age_s: float


def list_nodes() -> list[NodeRow]:
    """Return the nodes, ordered by name; a node disappears with its rows, ten minutes after its end."""
    rows = processes_with_age().order_by("node", "role")
    return [_node_row(node, list(found)) for node, found in groupby(rows, key=lambda row: row.node)]


def forget_node(node: str) -> int:
    """Delete the process rows of a node that has ended; return their number.

    Raises NotFound, and Conflict while one of its processes is alive.
    """
    known = {row.node: row for row in list_nodes()}
    if node not in known:
        raise NotFound(f"There is no node {node!r}; there are: {', '.join(known) or 'none'}.")
    if known[node].is_alive:
        raise Conflict(f"Node {node} is alive; stop its processes first.", code="node_alive")
    return StackProcess.objects.filter(node=node).delete()[0]


def _node_row(node: str, rows: Iterable["StackProcess"]) -> NodeRow:
    rows = list(rows)
    age_s = min(row.age.total_seconds() for row in rows)
    return NodeRow(
        node=node,
        processes=len(rows),
        roles=tuple(sorted({row.role for row in rows})),
        is_alive=age_s < FRESH_S,
        heartbeat_age_s=round(age_s, 1),
    )


def processes_with_age() -> "QuerySet[StackProcess]":
    """Return the processes with the ages of their heartbeats."""
    age = ExpressionWrapper(Now() - F("heartbeat_at"), output_field=DurationField())
    return StackProcess.objects.annotate(age=age)  # type: ignore[no-redef]  # the model declares it
