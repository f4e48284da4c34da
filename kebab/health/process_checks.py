"""Checks of the processes: each queue has a worker, and no process is stuck."""

import shutil
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import redis
from django.conf import settings
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import connection
from django.db.models.functions import Now

from kebab.health.checks import (
    CheckResult,
    failed_result,
    ok_result,
    repaired_result,
    warning_result,
)
from kebab.http.admission.watchdog import STALLED
from kebab.observability.metrics.aggregate import ProcessReader
from kebab.observability.metrics.files import metrics_folder
from kebab.runtime.connection_limits import STALLED_S
from kebab.stack.configuration import EMBED_QUEUES, WORKER_QUEUES
from kebab.stack.models import ProcessRole, StackProcess
from kebab.stack.nodes.registry import FRESH_S, living_processes
from kebab.stack.storage.private_places import (
    ARCHIVE_REMEDY,
    ARCHIVE_UNUSED,
    REMEDY,
    exposed_folders,
)
from kebab.stack.supervisor.state import running_state
from kebab.stack.supervisor.watchdog import stuck_workers

#: The name of the check.
PROCESSES = "processes"
# With workers on separate machines no process takes from `mirror`: each node's mirror process polls, and a
# message only makes it sooner.
_QUEUES = tuple(queue for queue in (*WORKER_QUEUES, *EMBED_QUEUES) if queue != "mirror")
# Workers start a few seconds after the web process.
_STARTS_WITHIN = timedelta(seconds=60)
_RESTART = "See the logs of that process; what runs it (kebab up, a service) is to start it again."


def check_processes(repair: bool = False) -> Iterator[CheckResult]:
    """Check that each queue has a worker, that beat runs, and that each web node has a mirror process."""
    living = list(living_processes())
    if not living and not _is_expected():
        yield warning_result(PROCESSES, "no stack runs here: documents wait until one does", "Run: kebab up")
        return
    missing = list(_missing_processes(living))
    if missing and _is_starting(living):
        yield warning_result(
            PROCESSES, f"not all have started yet: {'; '.join(missing)}", "Look again in a minute."
        )
    elif missing:
        yield failed_result(PROCESSES, "; ".join(missing), _RESTART)
    else:
        yield ok_result(PROCESSES, f"{len(living)} show signs of life, each queue has a worker")
    yield from _check_silent(repair)
    yield from _check_stuck(living)


def check_turns(repair: bool = False) -> CheckResult:
    """Check that the threads of this node's web processes finish their requests."""
    stalled = ProcessReader(metrics_folder()).max_values(STALLED.family.name)
    stuck = [f"process {pid}: none for {s:,.0f} s" for pid, s in sorted(stalled.items()) if s > STALLED_S]
    if not stuck:
        return ok_result("turns", "threads of web processes come back")
    remedy = "It ends by itself after two minutes, and is started again; web.log has what hung."
    return failed_result("turns", f"threads of web processes don't come back ({'; '.join(stuck)})", remedy)


def has_workers() -> bool:
    """Return whether some worker has a fresh heartbeat, so that due jobs start soon."""
    return living_processes().filter(role=ProcessRole.WORKER).exists()


def _missing_processes(living: Sequence[StackProcess]) -> Iterator[str]:
    served = {queue for each in living if each.role == ProcessRole.WORKER for queue in each.queues}
    for queue in _QUEUES:
        if queue not in served:
            yield f"no worker takes from the queue {queue}"
    if not _nodes(living, ProcessRole.BEAT):
        yield "no beat runs: nothing is swept, synced by schedule or thrown away"
    for node in sorted(_nodes(living, ProcessRole.WEB) - _nodes(living, ProcessRole.MIRROR)):
        yield f"no mirror process runs on {node}"


def _nodes(living: Sequence[StackProcess], role: ProcessRole) -> set[str]:
    return {each.node for each in living if each.role == role}


def _check_silent(repair: bool) -> Iterator[CheckResult]:
    """Check for processes that ended without a notice; their rows are deleted after ten minutes anyway."""
    silent = StackProcess.objects.filter(heartbeat_at__lte=Now() - timedelta(seconds=FRESH_S))
    names = [str(each) for each in silent.order_by("node", "name")]
    if not names:
        return
    if repair:
        silent.delete()
        yield repaired_result("silent processes", f"{', '.join(names[:5])}; forgotten")
    else:
        yield warning_result(
            "silent processes", f"{', '.join(names[:5])} gave no sign for {FRESH_S:.0f} s", _RESTART
        )


def _check_stuck(living: Sequence[StackProcess]) -> Iterator[CheckResult]:
    try:
        found = [
            f"pid {pid} on {node}"
            for node in sorted(_nodes(living, ProcessRole.WORKER))
            for pid in stuck_workers(node, settings.REDIS_URL)
        ]
    except redis.RedisError:
        return  # another check reports that
    if found:
        yield failed_result("stuck workers", f"{', '.join(found)}: work waits and none is started", _RESTART)


def _is_expected() -> bool:
    """Return whether processes are expected: a stack runs here, or the servers are external, so it may run
    elsewhere.
    """
    state = running_state(settings.KEBAB_DATA_DIR)
    return bool(state is not None and state.url) or not settings.KEBAB_EMBEDDED_POSTGRES


def _is_starting(living: Sequence[StackProcess]) -> bool:
    ids = [each.pk for each in living]
    older = StackProcess.objects.filter(pk__in=ids, started_at__lt=Now() - _STARTS_WITHIN)
    return bool(living) and not older.exists()


# Leases use Postgres' clock; messages, tokens and schedules the machine's. The skew must be less than the
# shortest lifetime of these.
_MOST_SKEW_S = 5.0
_LEAST_FREE_BYTES = 200_000_000
_SCARCE_BYTES = 1_000_000_000
_SCARCE_SHARE = 0.05


def check_clock(repair: bool = False) -> CheckResult:
    """Check this machine's clock against Postgres', to within half the round-trip time."""
    began_s = time.time()
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())::float8")
        (there_s,) = cursor.fetchone()
    return judge_clock((began_s + time.time()) / 2 - there_s)


def judge_clock(ahead_s: float) -> CheckResult:
    """Return the result for a clock that is `ahead_s` seconds ahead of Postgres'."""
    word = "ahead of" if ahead_s > 0 else "behind"
    if abs(ahead_s) > _MOST_SKEW_S:
        remedy = "Have both machines set their clocks by NTP (timedatectl set-ntp true)."
        return failed_result("clock", f"{abs(ahead_s):,.0f} s {word} Postgres'", remedy)
    return ok_result("clock", f"{abs(ahead_s):.1f} s {word} Postgres'")


def check_disks(repair: bool = False) -> Iterator[CheckResult]:
    """Check the free space of the disks with data, mirrors and blobs; one result for each disk."""
    places: dict[int, Path] = {}
    for path in _storage_paths():
        places.setdefault(path.stat().st_dev, path)
    for path in places.values():
        usage = shutil.disk_usage(path)
        yield judge_disk(path, free_bytes=usage.free, size_bytes=usage.total)


def judge_disk(path: Path, *, free_bytes: int, size_bytes: int) -> CheckResult:
    """Return the result for a disk with so much free space."""
    name, detail = (
        f"room on the disk of {path}",
        f"{free_bytes / 1e9:.1f} of {size_bytes / 1e9:.1f} GB free",
    )
    remedy = "Make room: writes fail on a full disk, searches go on; they recover by themselves."
    if free_bytes < _LEAST_FREE_BYTES:
        return failed_result(name, detail, remedy)
    if free_bytes < min(_SCARCE_BYTES, _SCARCE_SHARE * size_bytes):
        return warning_result(name, detail, remedy)
    return ok_result(name, detail)


def check_configuration(repair: bool = False) -> CheckResult:
    """Check that the settings fit each other and the running nodes."""
    misfits = list(_misfits())
    if not misfits:
        return ok_result("configuration", "fits")
    return warning_result(
        "configuration", "; ".join(wrong for wrong, _ in misfits), " ".join(way for _, way in misfits)
    )


def _misfits() -> Iterator[tuple[str, str]]:
    for root, place in exposed_folders():
        yield f"KEBAB_FOLDER_ROOTS allows {root}, where {place} is Kebab's own", REMEDY.capitalize()
    if settings.KEBAB_WAL_ARCHIVE is not None:
        yield ARCHIVE_UNUSED, ARCHIVE_REMEDY
    nodes = sorted(living_processes().order_by().values_list("node", flat=True).distinct())
    if len(nodes) < 2:
        return
    if isinstance(default_storage, FileSystemStorage):
        yield (
            f"{', '.join(nodes[:5])} keep blobs in {default_storage.location}: right if all see the same",
            "Mount one folder there on all nodes, or use an object store; `blobs` says what is missing here.",
        )
    if settings.KEBAB_EMBEDDED_REDIS:
        yield (
            f"{', '.join(nodes[:5])} work on one database with a Redis each",
            "Set REDIS_URL to one Redis for all.",
        )


def _storage_paths() -> list[Path]:
    paths = [settings.KEBAB_DATA_DIR, settings.KEBAB_MIRROR_DIR]
    if isinstance(default_storage, FileSystemStorage):
        paths.append(Path(default_storage.location))
    return [Path(path) for path in paths if path is not None and Path(path).is_dir()]
