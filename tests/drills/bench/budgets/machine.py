"""Memory of the stack's processes, and the conditions of a run."""

from typing import Any

import psutil
from django.conf import settings

from kebab.stack.models import StackProcess
from kebab.stack.supervisor.state import StackState
from search.evaluation.record import describe_machine
from tests.drills.bench.budgets.figures import Figure, missing_figure

_BUDGETS_MB = {"web": 350.0, "worker": 500.0, "embedder": 500.0}
_MB = 1_000_000


def memory_figures(state: StackState | None) -> list[Figure]:
    """Return the memory of web, worker and embedder, their largest process each, and of this node's stack.

    Pages that processes share are counted once (proportional set size) where the system reports it.
    """
    rows = StackProcess.objects.filter(node=settings.KEBAB_NODE_ID, name__in=_BUDGETS_MB).order_by("name")
    figures = [
        Figure(
            name=f"memory, {row.name}",
            value=max(family_mb(row.pid), default=0.0),
            unit="MB",
            at_most=_BUDGETS_MB[row.name],
            note="its largest process",
        )
        for row in rows
        if psutil.pid_exists(row.pid)
    ]
    if state is None or not state.url:
        return [*figures, missing_figure("memory, whole stack", "no `kebab up` runs", unit="MB")]
    total = sum(family_mb(state.supervisor.pid))
    return [*figures, Figure(name="memory, whole stack", value=total, unit="MB", note="at work")]


def family_mb(pid: int) -> list[float]:
    """Return the memory of a process and of each of its descendants."""
    try:
        process = psutil.Process(pid)
        return [_memory_mb(each) for each in (process, *process.children(recursive=True))]
    except psutil.NoSuchProcess:
        return []


def _memory_mb(process: psutil.Process) -> float:
    try:
        found = process.memory_full_info()
        return float(getattr(found, "pss", found.rss)) / _MB
    except psutil.AccessDenied:
        return float(process.memory_info().rss) / _MB
    except psutil.NoSuchProcess:
        return 0.0


def conditions(*, chunks: int, documents: int, queries: int) -> dict[str, Any]:
    """Return the conditions needed to repeat the measurement."""
    return {**describe_machine(), "documents": documents, "chunks": chunks, "queries": queries}
