"""The files of a commit and their bytes, read from one listing without a checkout."""

import os
import re
import select
import subprocess
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import NamedTuple, Self

from ingest.connectors.errors import ListingFailed
from ingest.connectors.git.command import CHECK_S, LOCAL_LIMIT_S, Git, kill, require_pipe
from ingest.connectors.tree import FileFacts, readable_name
from ingest.connectors.walk_rules import SkipReason

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


MAX_FILES = 1_000_000
# A million files take three seconds.
_CHECK_FILES = 10_000
_LINK = b"120000"
_SUBMODULE = b"160000"
# Mode, object name, size and path. Matched one by one: splitting the listing would copy all of it.
_LINE = re.compile(rb"(\d+) \w+ (\w+) +(\S+)\t([^\0]+)\0")


class TreeFile(NamedTuple):
    """A file in a commit's tree; a tuple, since there may be a million."""

    mode: bytes
    object_name: str
    size_bytes: int

    @property
    def is_regular(self) -> bool:
        """Return whether it is a regular file, no link or submodule."""
        return self.mode not in (_LINK, _SUBMODULE)


Node = TreeFile | dict[str, "Node"]


class GitTree:
    """A commit's directories and files; symbolic links and submodules are not followed."""

    def __init__(self, git: Git, commit: str, blobs: BlobReader) -> None:
        self._root = _parse_tree(
            git.run("ls-tree", "-r", "-l", "-z", "--full-tree", commit), git.while_waiting
        )
        self._blobs = blobs
        # By directory id: nodes with non-ASCII names, by their names in NFC.
        self._in_nfc: dict[int, dict[str, Node]] = {}

    def children(self, directory: Node | None) -> Mapping[str, Node]:
        """Return the entries of a directory by name; None is the root."""
        node = self._root if directory is None else directory
        return node if isinstance(node, dict) else {}

    def is_directory(self, node: Node) -> bool:
        """Return whether the node is a directory."""
        return isinstance(node, dict)

    def facts(self, node: Node) -> FileFacts | SkipReason:
        """Return size and object name of a file, or the reason why it is skipped."""
        if not isinstance(node, TreeFile):
            return SkipReason.SPECIAL_FILE
        if node.mode == _LINK:
            return SkipReason.LINK
        if node.mode == _SUBMODULE:
            return SkipReason.SUBMODULE
        return FileFacts(size_bytes=node.size_bytes, revision=node.object_name)

    def ignore_file(self, node: Node, at_most: int) -> bytes:
        """Return up to `at_most` bytes of an ignore file. Raises ListingFailed."""
        if not isinstance(node, TreeFile) or not node.is_regular:
            return b""
        return self._blobs.read(node.object_name, at_most)

    def find_file(self, path: str) -> TreeFile | None:
        """Return the regular file at a path in NFC; None when there is none."""
        node: Node | None = self._root
        for name in path.split("/"):
            node = self._find_child(node, name) if isinstance(node, dict) else None
        return node if isinstance(node, TreeFile) and node.is_regular else None

    def _find_child(self, directory: dict[str, Node], name: str) -> Node | None:
        """Return the node with this name in NFC; of several the one that a walk yields."""
        if name.isascii() and name in directory:
            return directory[name]
        if id(directory) not in self._in_nfc:
            # Of nodes with equal names in NFC the first counts.
            self._in_nfc[id(directory)] = {
                readable_name(name): directory[name]
                for name in sorted(directory, reverse=True)
                if not name.isascii()
            }
        return self._in_nfc[id(directory)].get(name)


def _parse_tree(listing: bytes, while_waiting: Callable[[], None]) -> dict[str, Node]:
    root: dict[str, Node] = {}
    directories: dict[str, dict[str, Node]] = {"": root}
    for number, line in enumerate(_LINE.finditer(listing)):
        if number % _CHECK_FILES == 0:
            while_waiting()
        if number >= MAX_FILES:
            raise ListingFailed(f"The repository has more than {MAX_FILES:,} files.")
        mode, object_name, size, raw_path = line.groups()
        parent, _, name = raw_path.decode("utf-8", errors="surrogateescape").rpartition("/")
        file = TreeFile(mode, object_name.decode(), int(size) if size.isdigit() else 0)
        directory = directories.get(parent)
        if directory is None:
            directory = directories[parent] = _ensure_directory(root, parent)
        directory.setdefault(name, file)
    return root


def _ensure_directory(root: dict[str, Node], path: str) -> dict[str, Node]:
    """Return the directory at a path, created if missing; detached if a broken tree has a file there."""
    node = root
    for name in path.split("/"):
        inner = node.setdefault(name, {})
        node = inner if isinstance(inner, dict) else {}
    return node
