"""Liveness of a process of this node, by its row in Postgres."""

from datetime import timedelta

from django.db.models.functions import Now

from kebab.stack.models import StackProcess
from kebab.stack.nodes.heartbeat import FRESH_S
from kebab.stack.supervisor.watchdog import stuck_workers


def find_complaint(node_id: str, name: str, redis_url: str) -> str:
    """Return the problem of the node's youngest process of that name; "" if it has none or is still starting.

    Raises:
        Error: Postgres doesn't answer.
        RedisError: Redis doesn't, and a worker seems idle.
    """
    rows = StackProcess.objects.filter(node=node_id, name=name)
    youngest = rows.order_by("-started_at").first()
    if youngest is None:
        return ""
    if not rows.filter(pk=youngest.pk, heartbeat_at__gt=Now() - timedelta(seconds=FRESH_S)).exists():
        return f"{name} on {node_id} has given no sign of life for {FRESH_S:.0f} s"
    if youngest.pid in stuck_workers(node_id, redis_url):
        return f"{name} on {node_id} has work and does none"
    return ""
