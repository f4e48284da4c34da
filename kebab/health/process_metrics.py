"""Process metrics from the kernel: CPU time, memory, files and threads of the node's processes."""

from collections.abc import Iterable

import psutil
from django.conf import settings

from kebab.observability.metrics.aggregate import LivingProcess
from kebab.observability.metrics.collectors import declare_gauge
from kebab.observability.metrics.exposition import Page
from kebab.observability.metrics.files import Family, declare, pid_namespace
from kebab.stack.supervisor.state import running_state

_BY_PROCESS = ("role", "pid")
_CPU = declare(
    Family(name="process_cpu_seconds_total", help="CPU time in seconds.", kind="counter", labels=_BY_PROCESS)
)
_MEMORY = declare_gauge("process_resident_memory_bytes", "Resident memory size in bytes.", *_BY_PROCESS)
_FILES = declare_gauge("process_open_fds", "Number of open file descriptors.", *_BY_PROCESS)
_THREADS = declare_gauge("process_threads", "Number of threads.", *_BY_PROCESS)
_STARTED = declare_gauge("process_start_time_seconds", "Start time as Unix time in seconds.", *_BY_PROCESS)


def write_processes(page: Page, counting: Iterable[LivingProcess]) -> None:
    """Add the given processes of our own pid namespace, and the stack's servers, to the page."""
    own = pid_namespace()
    roles = {process.pid: process.role for process in counting if process.pids == own}
    for pid, role in {**_servers(), **roles}.items():
        _add_process(page, role, pid)


def _servers() -> dict[int, str]:
    """Return the pids of the supervisor and the embedded servers, which have no metrics files, with roles."""
    state = running_state(settings.KEBAB_DATA_DIR)
    if state is None:
        return {}
    servers = {each.mark.pid: each.name for each in state.processes if each.name in {"postgres", "redis"}}
    return {state.supervisor.pid: "supervisor", **servers}


def _add_process(page: Page, role: str, pid: int) -> None:
    labels = (role, str(pid))
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            times = process.cpu_times()
            page.add_sample(_CPU, labels, times.user + times.system)
            page.add_sample(_MEMORY, labels, process.memory_info().rss)
            page.add_sample(_THREADS, labels, process.num_threads())
            page.add_sample(_STARTED, labels, process.create_time())
        page.add_sample(_FILES, labels, process.num_fds())
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return
