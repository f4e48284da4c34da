"""Checks of the environment: the clock, the disks, and settings that don't fit each other."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import connection

from kebab.health.checks import CheckResult, failed_result, ok_result, warning_result
from kebab.stack.nodes.heartbeat import living_processes
from kebab.stack.storage.private_places import REMEDY, exposed_folders

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
    paths = [settings.KEBAB_DATA_DIR, settings.KEBAB_MIRROR_DIR, settings.KEBAB_WAL_ARCHIVE]
    if isinstance(default_storage, FileSystemStorage):
        paths.append(Path(default_storage.location))
    return [Path(path) for path in paths if path is not None and Path(path).is_dir()]
