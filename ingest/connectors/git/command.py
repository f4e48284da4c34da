"""Runs `git` so that nothing of the machine's, the user's or the repository's can make it do more.

Its environment is made from nothing; hooks, submodules, helpers, prompts, redirects and all transports but
the one that is needed are off. A command ends at a time limit, when its output or the repository grows over
a limit, and when the job no longer wants it.
"""

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

#: http.curloptResolve, which holds a name to the addresses that were checked, came with 2.37.
_OLDEST = (2, 38)
_LOOK_S = 0.2
_PIECE_BYTES = 1024**2
_KEPT_STDERR_BYTES = 16_384
_LOCAL_LIMIT_S = 300.0
#: A file takes some 120 bytes of a listing: room for two million.
MAX_OUTPUT_BYTES = 256 * 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class Git:
    """The `git` command over one bare repository."""

    git_dir: Path
    environment: Mapping[str, str] = field(repr=False)
    #: is called a few times a second while a command runs, and ends it by raising
    while_waiting: Callable[[], None]
    #: what must never be shown, whatever git says
    secrets: tuple[str, ...] = field(default=(), repr=False)
    #: descriptors that children inherit
    kept_open: tuple[int, ...] = ()

    def run(
        self,
        *arguments: str,
        limit_s: float = _LOCAL_LIMIT_S,
        size_bytes: Callable[[], int] | None = None,
    ) -> bytes:
        """Return what git writes to its standard output.

        Raises:
            ListingFailed: it could not be done, in words for whoever reads the job; or it took longer than
                `limit_s`.
            RepositoryTooLarge: `size_bytes` came to be over KEBAB_GIT_LIMIT_BYTES.
        """
        process = self.start(*arguments, stdin=subprocess.DEVNULL)
        try:
            output, told = self._follow(process, time.monotonic() + limit_s, size_bytes)
        finally:
            _end(process)
        if process.returncode:
            raise ListingFailed(explain(told, process.returncode, self.secrets))
        _check_size(size_bytes)  # it may have grown between the last look and the end
        return output

    def start(self, *arguments: str, stdin: int) -> "subprocess.Popen[bytes]":
        """Start git in a session of its own. Raises ListingFailed when it isn't installed."""
        try:
            return subprocess.Popen(
                [git_program(), f"--git-dir={self.git_dir}", *arguments],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if stdin == subprocess.DEVNULL else subprocess.DEVNULL,
                env=dict(self.environment),
                cwd=self.git_dir.parent,
                start_new_session=True,
                pass_fds=self.kept_open,
            )
        except OSError as error:
            raise ListingFailed(f"git can't be started here: {error.strerror}.") from error

    def _follow(
        self, process: "subprocess.Popen[bytes]", deadline: float, size_bytes: Callable[[], int] | None
    ) -> tuple[bytes, str]:
        output, told = bytearray(), bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(opened(process.stdout), selectors.EVENT_READ, output)
            selector.register(opened(process.stderr), selectors.EVENT_READ, told)
            next_look = 0.0
            while selector.get_map():
                for key, _ in selector.select(_LOOK_S):
                    _read(selector, key)
                del told[:-_KEPT_STDERR_BYTES]
                if (now := time.monotonic()) > next_look:
                    self._look(deadline, size_bytes)
                    next_look = now + _LOOK_S
                if len(output) > MAX_OUTPUT_BYTES:
                    raise ListingFailed("The repository has more files or references than can be read.")
        process.wait(timeout=max(1.0, deadline - time.monotonic()))
        return bytes(output), told.decode(errors="replace")

    def _look(self, deadline: float, size_bytes: Callable[[], int] | None) -> None:
        self.while_waiting()
        if time.monotonic() > deadline:
            raise ListingFailed(
                "The repository was not read within the time limit (KEBAB_GIT_LIMIT_S for a fetch)."
            )
        _check_size(size_bytes)


@cache
def git_program() -> str:
    """Return the path of `git`. Raises ListingFailed when it isn't there or too old."""
    found = shutil.which("git")
    if found is None:
        raise ListingFailed("git isn't installed on this worker's machine; install 2.38 or later.")
    said = subprocess.run([found, "--version"], capture_output=True, check=False, timeout=30).stdout
    version = tuple(int(part) for part in said.decode().split()[2].split(".")[:2])
    if version < _OLDEST:
        raise ListingFailed(f"git {'.'.join(map(str, version))} is too old; install 2.38 or later.")
    return found


def opened(pipe: IO[bytes] | None) -> IO[bytes]:
    """Return a pipe that git was started with."""
    if pipe is None:
        raise ValueError("git was started without its pipes")
    return pipe


def _check_size(size_bytes: Callable[[], int] | None) -> None:
    if size_bytes is not None and size_bytes() > settings.KEBAB_GIT_LIMIT_BYTES:
        raise RepositoryTooLarge(
            f"The repository takes more than {settings.KEBAB_GIT_LIMIT_BYTES:,} bytes"
            " (KEBAB_GIT_LIMIT_BYTES)."
        )


def _read(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    received = os.read(key.fd, _PIECE_BYTES)
    if received:
        key.data.extend(received)
    else:
        selector.unregister(key.fileobj)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End git with all that it has started, and free its pipes."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
