"""Reads objects through one `git cat-file --batch` that lives as long as the job."""

import re
import subprocess
from types import TracebackType
from typing import IO, Self

from ingest.connectors.errors import ListingFailed
from ingest.connectors.git.command import Git, opened

_NAME = re.compile(r"[0-9a-f]{40,64}")
_PIECE_BYTES = 1024**2


class BlobReader:
    """Gives the bytes of blobs by name; use as a context manager. For one thread."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                opened(pipe).close()

    def read(self, object_name: str, at_most: int) -> bytes:
        """Return the first `at_most` bytes of a blob. Raises FileNotFoundError, ListingFailed."""
        if not _NAME.fullmatch(object_name):
            raise ValueError(f"{object_name[:100]!r} is no object's name.")
        asked, answered = self._pipes()
        try:
            asked.write(object_name.encode() + b"\n")
            asked.flush()
            header = answered.readline().split()
        except OSError as error:
            raise ListingFailed("git broke off while files were read; sync again.") from error
        if header[1:] == [b"missing"]:
            raise FileNotFoundError(object_name)
        if len(header) != 3 or header[1] != b"blob":
            raise ListingFailed("git broke off while files were read; sync again.")
        return _read(answered, int(header[2]), at_most)

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._process is None:
            self._process = self._git.start("cat-file", "--batch", stdin=subprocess.PIPE)
        return opened(self._process.stdin), opened(self._process.stdout)


def _read(answered: IO[bytes], size_bytes: int, at_most: int) -> bytes:
    kept = answered.read(min(size_bytes, at_most))
    left = size_bytes - len(kept) + 1  # a line feed ends it
    while left and (piece := answered.read(min(left, _PIECE_BYTES))):
        left -= len(piece)
    if left:
        raise ListingFailed("git broke off while files were read; sync again.")
    return kept
