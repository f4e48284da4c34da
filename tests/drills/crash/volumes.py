"""Small disks for parts of a data directory, which a scene fills and frees."""

import contextlib
import itertools
import os
import resource
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import psutil

from kebab.stack.paths import DataDirectory, create_folder
from tests.drills.crash.victims import worker_family
from tests.support.stack import Stack

_MB = 1_000_000
# Sizes without ballast: the data directory includes Postgres' files.
_SIZES_MB = {"data": 700, "blobs": 40, "mirrors": 80}
# Every text of the corpus is longer.
_TEXT_BYTES = 64
# No write to a mirror is shorter, and some lines of complaint still fit into the log file.
_PAGE_BYTES = 4_096


class Volume:
    """A tmpfs over a folder."""

    def __init__(self, folder: Path, size_mb: int) -> None:
        self._folder = folder
        self._ballast = folder / "ballast"
        create_folder(folder, 0o711)
        options = f"size={size_mb}m,mode=0711"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)  # noqa: S607

    def fill(self) -> None:
        """Fill the remaining space."""
        with self._ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            for n in itertools.count():
                os.posix_fallocate(file.fileno(), n * _MB, _MB)
        with self._ballast.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"\0")

    def free(self) -> None:
        """Free the space again."""
        self._ballast.unlink(missing_ok=True)

    def unmount(self) -> None:
        """Unmount the disk, also while processes that are ending use it."""
        subprocess.run(["umount", "--lazy", str(self._folder)], check=False)  # noqa: S607


class Quota:
    """Substitute for a full disk where mounting is not permitted: a limit on the processes' file size."""

    def __init__(self, pids: Callable[[], Iterable[int]], size_bytes: int) -> None:
        """Limit the processes that `pids` returns to files of `size_bytes`."""
        self._pids = pids
        self._size_bytes = size_bytes

    def fill(self) -> None:
        """Refuse longer files."""
        self._limit(self._size_bytes)

    def free(self) -> None:
        """Allow longer files again."""
        self._limit(resource.RLIM_INFINITY)

    def _limit(self, size_bytes: int) -> None:
        for pid in self._pids():
            with contextlib.suppress(psutil.NoSuchProcess):
                process = psutil.Process(pid)
                most = process.rlimit(psutil.RLIMIT_FSIZE)[1]
                process.rlimit(psutil.RLIMIT_FSIZE, (size_bytes, most))


class Disk(Protocol):
    """A disk that can be full."""

    def fill(self) -> None:
        """Leave no space."""

    def free(self) -> None:
        """Free the space again."""


@contextlib.contextmanager
def disks_of(stack: Stack) -> Iterator[Mapping[str, Disk]]:
    """Mount a disk of its own for the data directory, and one each for blobs and mirrors on it.

    Without the right to mount, the latter two get limits on file sizes. Call before the stack is started.
    """
    if os.geteuid() != 0:
        yield {
            "blobs": Quota(lambda: worker_family(stack), _TEXT_BYTES),
            "mirrors": Quota(lambda: [stack.pids()["mirror"]], _PAGE_BYTES),
        }
        return
    directory = DataDirectory(stack.data_dir)
    folders = {"data": stack.data_dir, "blobs": directory.blobs, "mirrors": directory.mirrors}
    mounted: dict[str, Volume] = {}
    try:
        for name, folder in folders.items():
            mounted[name] = Volume(folder, _SIZES_MB[name])
        yield mounted
    finally:
        for volume in reversed(mounted.values()):
            volume.unmount()
