"""The `git` command, isolated from the configuration of the machine, the user and the repository.

Its environment is built from scratch; hooks, submodules, helpers, prompts, redirects and all transports but
the needed one are off. A command is killed at a time limit, when its output or the repository exceeds a size
limit, and when its job is stopped. The kernel limits memory, processor time and files of each of its
processes, also after this one was killed.
"""

import math
import os
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO

from django.conf import settings

from ingest.connectors.errors import ListingFailed, RepositoryTooLarge
from ingest.connectors.git.messages import explain

#: http.curloptResolve, which pins a host name to the checked addresses, came with 2.37.
_OLDEST = (2, 38)
CHECK_S = 0.2
_PIECE_BYTES = 1024**2
_MAX_STDERR_BYTES = 16_384
LOCAL_LIMIT_S = 300.0
#: A fetch of Linux takes 300 MB; a delta of some bytes can ask for 4 GB.
_MEMORY_BYTES = 1024**3
# A lower limit of the machine stays: the shell then refuses to raise it.
_LIMITED = '{ ulimit -d "$1"; ulimit -f "$2"; ulimit -t "$3"; } 2>/dev/null; shift 3; exec "$@"'
_FILE_BLOCK_BYTES = 512
#: A file takes about 120 bytes of a listing: enough for two million.
MAX_OUTPUT_BYTES = 256 * 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class Git:
    """The `git` command over one bare repository."""

    git_dir: Path
    environment: Mapping[str, str] = field(repr=False)
    #: called a few times a second while a command runs; ends it by raising
    while_waiting: Callable[[], None]
    #: texts that must never appear in a message
    secrets: tuple[str, ...] = field(default=(), repr=False)
    #: file descriptors that child processes inherit
    inherited_fds: tuple[int, ...] = ()

    def run(
        self,
        *arguments: str,
        limit_s: float = LOCAL_LIMIT_S,
        size_bytes: Callable[[], int] | None = None,
        max_output_bytes: int | None = None,
    ) -> bytes:
        """Run a command and return its standard output, of MAX_OUTPUT_BYTES unless another limit is given.

        Raises:
            ListingFailed: the command failed, with a message for the job; or it took longer than `limit_s`.
            RepositoryTooLarge: `size_bytes` exceeded KEBAB_GIT_LIMIT_BYTES.
        """
        process = self.start(*arguments, stdin=subprocess.DEVNULL, cpu_s=limit_s)
        limits = _RunLimits(
            ends_at=time.monotonic() + limit_s,
            size_bytes=size_bytes,
            output_bytes=max_output_bytes or MAX_OUTPUT_BYTES,
        )
        try:
            output, stderr = self._read_output(process, limits)
        finally:
            kill(process)
        if process.returncode:
            raise ListingFailed(explain(stderr, process.returncode, self.secrets))
        _check_size(size_bytes)  # it may have grown since the last check
        return output

    def start(self, *arguments: str, stdin: int, cpu_s: float | None = None) -> "subprocess.Popen[bytes]":
        """Start git in a new session, its processes limited. Raises ListingFailed when it isn't installed."""
        limits = (
            _MEMORY_BYTES // 1024,
            2 * settings.KEBAB_GIT_LIMIT_BYTES // _FILE_BLOCK_BYTES + 1,  # beyond what `_check_size` ends
            "unlimited" if cpu_s is None else math.ceil(cpu_s),
        )
        command = (git_program(), f"--git-dir={self.git_dir}", *arguments)
        try:
            return subprocess.Popen(
                ["/bin/sh", "-c", _LIMITED, "git", *map(str, limits), *command],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if stdin == subprocess.DEVNULL else subprocess.DEVNULL,
                env=dict(self.environment),
                cwd=self.git_dir.parent,
                start_new_session=True,
                pass_fds=self.inherited_fds,
            )
        except OSError as error:
            raise ListingFailed(f"git can't be started here: {error.strerror}.") from error

    def _read_output(self, process: "subprocess.Popen[bytes]", limits: "_RunLimits") -> tuple[bytes, str]:
        output, stderr = bytearray(), bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(require_pipe(process.stdout), selectors.EVENT_READ, output)
            selector.register(require_pipe(process.stderr), selectors.EVENT_READ, stderr)
            next_check = 0.0
            while selector.get_map():
                for key, _ in selector.select(CHECK_S):
                    received = os.read(key.fd, _PIECE_BYTES)
                    if received:
                        key.data.extend(received)
                    else:
                        selector.unregister(key.fileobj)
                del stderr[:-_MAX_STDERR_BYTES]
                if (now := time.monotonic()) > next_check:
                    self._check_limits(limits)
                    next_check = now + CHECK_S
                if len(output) > limits.output_bytes:
                    raise ListingFailed("The repository has more files or references than can be read.")
        while not _has_ended(process):
            self.check_stop(limits.ends_at)
        return bytes(output), stderr.decode(errors="replace")

    def _check_limits(self, limits: "_RunLimits") -> None:
        self.check_stop(limits.ends_at)
        _check_size(limits.size_bytes)

    def check_stop(self, ends_at: float) -> None:
        """Raise ListingFailed after a time of the monotonic clock, and the errors of `while_waiting`."""
        self.while_waiting()
        if time.monotonic() > ends_at:
            raise ListingFailed(
                "The repository was not read within the time limit (KEBAB_GIT_LIMIT_S for a fetch)."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _RunLimits:
    ends_at: float
    size_bytes: Callable[[], int] | None
    output_bytes: int


@cache
def git_program() -> str:
    """Return the path of `git`. Raises ListingFailed when it is missing or too old."""
    found = shutil.which("git")
    if found is None:
        raise ListingFailed("git isn't installed on this worker's machine; install 2.38 or later.")
    version_output = subprocess.run([found, "--version"], capture_output=True, check=False, timeout=30).stdout
    version = tuple(int(part) for part in version_output.decode().split()[2].split(".")[:2])
    if version < _OLDEST:
        raise ListingFailed(f"git {'.'.join(map(str, version))} is too old; install 2.38 or later.")
    return found


def require_pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    """Return the pipe. Raises ValueError if git was started without it."""
    if pipe is None:
        raise ValueError("git was started without its pipes")
    return pipe


def _check_size(size_bytes: Callable[[], int] | None) -> None:
    if size_bytes is not None and size_bytes() > settings.KEBAB_GIT_LIMIT_BYTES:
        raise RepositoryTooLarge(
            f"The repository takes more than {settings.KEBAB_GIT_LIMIT_BYTES:,} bytes"
            " (KEBAB_GIT_LIMIT_BYTES)."
        )


def _has_ended(process: "subprocess.Popen[bytes]") -> bool:
    try:
        process.wait(timeout=CHECK_S)
    except subprocess.TimeoutExpired:
        return False
    return True


def kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill git with all its child processes, and close its pipes."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(BrokenPipeError):  # what it has not read of its input
                pipe.close()
