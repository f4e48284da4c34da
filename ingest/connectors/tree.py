"""Walk over a tree of files of any kind: yields those to read, and those skipped with the reason."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from ingest.connectors.chosen_folders import ChosenFolders, ExcludedFolders
from ingest.connectors.ignore import MAX_IGNORE_FILE_BYTES, IgnoreFiles, IgnoreRules
from ingest.connectors.types import Entry, FoundFile, SkippedFile
from ingest.connectors.walk_rules import (
    LEAST_PROSE_FILES,
    OUTPUT_DIRECTORIES,
    PROSE_EXTENSIONS,
    VERSION_CONTROL,
    SkipReason,
    WalkRules,
)
from search.corpus.paths import has_invisible_character

#: Names that an archive or a git tree may contain, and that would make a path lead elsewhere.
_NO_NAMES = frozenset({"", ".", ".."})
# A byte that is no UTF-8, as Python writes it in names.
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")

Node = TypeVar("Node")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """The facts about a file that a tree knows without reading it."""

    size_bytes: int
    mtime_ns: int | None = None
    revision: str = ""


class Tree(Protocol[Node]):
    """A tree of directories and files; a node is one file or directory."""

    def children(self, directory: Node | None) -> Mapping[str, Node]:
        """Return the entries of a directory (None: the root) by their raw names. Raises ListingFailed."""
        ...

    def is_directory(self, node: Node) -> bool:
        """Return whether the node is a directory that may be entered, and no link to one."""
        ...

    def facts(self, node: Node) -> FileFacts | SkipReason:
        """Return the facts about a file, or the reason why it may not be read. Raises ListingFailed."""
        ...

    def ignore_file(self, node: Node, at_most: int) -> bytes:
        """Return up to `at_most` bytes of an ignore file, b"" for no regular file. Raises ListingFailed."""
        ...


def walk_tree(tree: Tree[Node], rules: WalkRules) -> Iterator[Entry]:
    """Yield everything in the tree, sorted by name within each directory, depth first.

    Raises:
        ListingFailed: a directory or an ignore file cannot be read, or the ignore files are too large;
            raised when it is reached, so that a caller who has not seen the end of the listing deletes
            nothing.
    """
    return _Walk(tree, rules).entries()


@dataclass(frozen=True, slots=True)
class _Directory(Generic[Node]):
    """A directory to list: its path below the root ("" or ending in "/") and the rules above it."""

    prefix: str
    node: Node | None
    #: (length of the ignore file's own prefix, its rules), outermost first
    ignores: tuple[tuple[int, IgnoreRules], ...]


class _Walk(Generic[Node]):
    def __init__(self, tree: Tree[Node], rules: WalkRules) -> None:
        self._tree = tree
        self._rules = rules
        self._chosen = ChosenFolders(rules.folders)
        self._excluded = ExcludedFolders(rules.excluded_folders)
        self._ignore_files = IgnoreFiles()

    def entries(self) -> Iterator[Entry]:
        # an explicit stack: paths may be nested deeper than Python's recursion limit
        open_directories = [self._list(_Directory("", None, ()))]
        while open_directories:
            step = next(open_directories[-1], None)
            if step is None:
                open_directories.pop()
            elif isinstance(step, _Directory):
                open_directories.append(self._list(step))
            else:
                yield step

    def _list(self, directory: _Directory[Node]) -> Iterator[Entry | _Directory[Node]]:
        nodes = self._tree.children(directory.node)
        ignores = self._active_ignores(directory, nodes)
        seen: set[str] = set()
        for name, raw_name in sorted((readable_name(raw_name), raw_name) for raw_name in nodes):
            node = nodes[raw_name]
            path = directory.prefix + name
            refusal = name_refusal(name) or (SkipReason.DUPLICATE_PATH if name in seen else None)
            seen.add(name)
            is_directory = self._tree.is_directory(node)
            if refusal is not None:
                yield SkippedFile(path=printable_path(path, is_directory=is_directory), reason=refusal)
            elif is_directory:
                yield self._enter(path, node, ignores)
            else:
                yield self._classify_file(path, node, ignores)

    def _active_ignores(
        self, directory: _Directory[Node], nodes: Mapping[str, Node]
    ) -> tuple[tuple[int, IgnoreRules], ...]:
        own = [
            (len(directory.prefix), rules)
            for name in self._rules.ignore_files
            if name in nodes and (rules := self._ignore_rules(directory.prefix + name, nodes[name]))
        ]
        if not own:
            return directory.ignores
        ignores = (*directory.ignores, *own)
        self._ignore_files.check([rules for _, rules in ignores], directory.prefix)
        return ignores

    def _ignore_rules(self, path: str, node: Node) -> IgnoreRules | None:
        if self._tree.is_directory(node):
            return None
        content = self._tree.ignore_file(node, MAX_IGNORE_FILE_BYTES + 1)
        return self._ignore_files.rules(printable_path(path, is_directory=False), content)

    def _enter(
        self, path: str, node: Node, ignores: Sequence[tuple[int, IgnoreRules]]
    ) -> SkippedFile | _Directory[Node]:
        verdict = _verdict(path, ignores, is_directory=True)
        name = path.rpartition("/")[2]
        if verdict:
            return SkippedFile(path=path + "/", reason=SkipReason.IGNORED)
        if self._excluded.holds(path):
            return SkippedFile(path=path + "/", reason=SkipReason.EXCLUDED_FOLDER)
        if not self._chosen.holds(path) and not self._chosen.leads_to(path):
            return SkippedFile(path=path + "/", reason=SkipReason.OUTSIDE_FOLDERS)
        # An ignore file or the project file may name such a folder.
        is_skipped = name in self._rules.skipped_directories and not (
            verdict is False or self._chosen.is_named(path)
        )
        if name in VERSION_CONTROL or (is_skipped and not self._is_documentation(name, node)):
            return SkippedFile(path=path + "/", reason=SkipReason.SKIPPED_DIRECTORY)
        return _Directory(path + "/", node, tuple(ignores))

    def _is_documentation(self, name: str, node: Node) -> bool:
        """Return whether a folder with the name of build output contains only prose, as docs/build/ may."""
        if name not in OUTPUT_DIRECTORIES:
            return False
        nodes = self._tree.children(node)
        files = [each for each, inner in nodes.items() if not self._tree.is_directory(inner)]
        return len(files) >= LEAST_PROSE_FILES and all(
            file.rpartition(".")[2].lower() in PROSE_EXTENSIONS for file in files
        )

    def _classify_file(self, path: str, node: Node, ignores: Sequence[tuple[int, IgnoreRules]]) -> Entry:
        verdict = _verdict(path, ignores, is_directory=False)
        if verdict:
            return SkippedFile(path=path, reason=SkipReason.IGNORED)
        if path.rpartition("/")[2] in self._rules.excluded_files:
            return SkippedFile(path=path, reason=SkipReason.EXCLUDED_FILE)
        if not self._chosen.holds(path):
            return SkippedFile(path=path, reason=SkipReason.OUTSIDE_FOLDERS)
        by_name = self._rules.skip_reason_for_name(path) if verdict is None else None
        if by_name is not None:
            return SkippedFile(path=path, reason=by_name)
        facts = self._tree.facts(node)
        if isinstance(facts, SkipReason):
            return SkippedFile(path=path, reason=facts)
        if self._rules.is_too_large(path, facts.size_bytes):
            return SkippedFile(path=path, reason=SkipReason.TOO_LARGE)
        if not facts.size_bytes:
            return SkippedFile(path=path, reason=SkipReason.EMPTY)
        return FoundFile(
            path=path, size_bytes=facts.size_bytes, mtime_ns=facts.mtime_ns, revision=facts.revision
        )


def readable_name(name: str) -> str:
    """Return a name in NFC, the form of all paths; bytes that are no UTF-8 are read as Western letters."""
    if name.isascii():
        return name
    return unicodedata.normalize("NFC", _ESCAPED_BYTE.sub(_read_byte, name))


def _read_byte(escaped: re.Match[str]) -> str:
    return bytes([ord(escaped[0]) - 0xDC00]).decode("cp1252", "surrogateescape")


def name_refusal(name: str) -> SkipReason | None:
    """Return the reason why a name is not allowed, or None."""
    if name in _NO_NAMES:
        return SkipReason.UNSAFE_NAME
    if name.isprintable():
        return None
    if any("\ud800" <= character <= "\udfff" for character in name):
        return SkipReason.UNDECODABLE_NAME
    return SkipReason.CONTROL_CHARACTER_IN_NAME if has_invisible_character(name) else None


def printable_path(path: str, *, is_directory: bool) -> str:
    """Return a path with unprintable characters escaped, for reports."""
    readable = path.encode("utf-8", errors="backslashreplace").decode("utf-8")
    escaped = "".join(
        c if c.isprintable() or c == " " else c.encode("unicode_escape").decode() for c in readable
    )
    return escaped + "/" if is_directory else escaped


def _verdict(path: str, ignores: Sequence[tuple[int, IgnoreRules]], *, is_directory: bool) -> bool | None:
    """Return the verdict of the innermost ignore file that has a matching rule."""
    for prefix_length, rules in reversed(ignores):
        verdict = rules.verdict(path[prefix_length:], is_directory=is_directory)
        if verdict is not None:
            return verdict
    return None
