"""A reader of git objects through one `git cat-file --batch` process per job."""

import re
import subprocess
from types import TracebackType
from typing import IO, Self

from ingest.connectors.errors import ListingFailed
from ingest.connectors.git.command import Git, require_pipe

_NAME = re.compile(r"[0-9a-f]{40,64}")
_PIECE_BYTES = 1024**2


class BlobReader:
    """A reader of blobs by object name; use it as a context manager, in one thread."""

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
                require_pipe(pipe).close()

    def read(self, object_name: str, at_most: int) -> bytes:
        """Return the first `at_most` bytes of a blob. Raises FileNotFoundError, ListingFailed."""
        if not _NAME.fullmatch(object_name):
            raise ValueError(f"{object_name[:100]!r} is no object's name.")
        requests, answers = self._open_pipes()
        try:
            requests.write(object_name.encode() + b"\n")
            requests.flush()
            header = answers.readline().split()
        except OSError as error:
            raise ListingFailed("git broke off while files were read; sync again.") from error
        if header[1:] == [b"missing"]:
            raise FileNotFoundError(object_name)
        if len(header) != 3 or header[1] != b"blob":
            raise ListingFailed("git broke off while files were read; sync again.")
        return _read_blob(answers, int(header[2]), at_most)

    def _open_pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._process is None:
            self._process = self._git.start("cat-file", "--batch", stdin=subprocess.PIPE)
        return require_pipe(self._process.stdin), require_pipe(self._process.stdout)


def _read_blob(answers: IO[bytes], size_bytes: int, at_most: int) -> bytes:
    content = answers.read(min(size_bytes, at_most))
    left = size_bytes - len(content) + 1  # plus the line feed at its end
    while left and (piece := answers.read(min(left, _PIECE_BYTES))):
        left -= len(piece)
    if left:
        raise ListingFailed("git broke off while files were read; sync again.")
    return content
