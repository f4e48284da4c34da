"""A reader of git objects through one `git cat-file --batch` process per job."""

import os
import re
import select
import subprocess
import time
from types import TracebackType
from typing import Self

from ingest.connectors.errors import ListingFailed
from ingest.connectors.git.command import CHECK_S, LOCAL_LIMIT_S, Git, kill, require_pipe

_NAME = re.compile(r"[0-9a-f]{40,64}")
_PIECE_BYTES = 1024**2
_MAX_HEADER_BYTES = 1_000
#: Of a larger rest the process is ended, since four megabytes of a pack may unpack to gigabytes.
_MAX_DROPPED_BYTES = 16 * 1024**2
_BROKE_OFF = "git broke off while files were read; sync again."


class BlobReader:
    """A reader of blobs by object name; use it as a context manager, in one thread."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._process: subprocess.Popen[bytes] | None = None
        self._received = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def read(self, object_name: str, at_most: int) -> bytes:
        """Return the first `at_most` bytes of a blob.

        Raises FileNotFoundError, ListingFailed, and the errors of git's `while_waiting`.
        """
        if not _NAME.fullmatch(object_name):
            raise ValueError(f"{object_name[:100]!r} is not the name of an object.")
        ends_at = time.monotonic() + LOCAL_LIMIT_S
        header = self._request(object_name, ends_at).split()
        if header[1:] == [b"missing"]:
            raise FileNotFoundError(object_name)
        if len(header) != 3 or header[1] != b"blob":
            raise ListingFailed(_BROKE_OFF)
        size_bytes = int(header[2])
        content = self._take(min(size_bytes, at_most), ends_at)
        rest_bytes = size_bytes - len(content) + 1  # plus the line feed at its end
        if rest_bytes > _MAX_DROPPED_BYTES:
            self._stop()
        else:
            self._take(rest_bytes, ends_at)
        return content

    def _request(self, object_name: str, ends_at: float) -> bytes:
        """Request an object, and return the header of the answer."""
        if self._process is None:
            self._process = self._git.start("cat-file", "--batch", stdin=subprocess.PIPE)
        requests = require_pipe(self._process.stdin)
        try:
            requests.write(object_name.encode() + b"\n")
            requests.flush()
        except OSError as error:
            raise ListingFailed(_BROKE_OFF) from error
        while (end := self._received.find(b"\n")) < 0:
            if len(self._received) > _MAX_HEADER_BYTES:
                raise ListingFailed(_BROKE_OFF)
            self._receive(ends_at)
        return self._take(end + 1, ends_at)

    def _take(self, size_bytes: int, ends_at: float) -> bytes:
        while len(self._received) < size_bytes:
            self._receive(ends_at)
        taken = bytes(self._received[:size_bytes])
        del self._received[:size_bytes]
        return taken

    def _receive(self, ends_at: float) -> None:
        answers = require_pipe(None if self._process is None else self._process.stdout)
        self._git.check_stop(ends_at)
        while not select.select([answers], [], [], CHECK_S)[0]:
            self._git.check_stop(ends_at)
        piece = os.read(answers.fileno(), _PIECE_BYTES)
        if not piece:
            raise ListingFailed(_BROKE_OFF)
        self._received += piece

    def _stop(self) -> None:
        if self._process is not None:
            kill(self._process)
        self._process = None
        self._received.clear()
