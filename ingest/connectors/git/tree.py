"""The tree of files of a commit, read from one listing without a checkout."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ingest.connectors.errors import ListingFailed
from ingest.connectors.git.blobs import BlobReader
from ingest.connectors.git.command import Git
from ingest.connectors.tree import FileFacts, readable_name
from ingest.connectors.walk_rules import SkipReason

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
            self._in_nfc[id(directory)] = _index_by_nfc(directory)
        return self._in_nfc[id(directory)].get(name)


def _index_by_nfc(directory: dict[str, Node]) -> dict[str, Node]:
    """Return the nodes with non-ASCII names by their names in NFC; of equal names the first counts."""
    return {
        readable_name(name): directory[name] for name in sorted(directory, reverse=True) if not name.isascii()
    }


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
