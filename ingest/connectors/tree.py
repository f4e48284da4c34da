"""Walks a tree of files, wherever it is: which of them are to be read, which are left out and why."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from ingest.connectors.chosen_folders import ChosenFolders, ExcludedFolders
from ingest.connectors.ignore import IgnoreRules
from ingest.connectors.ignore_files import MAX_IGNORE_FILE_BYTES, IgnoreFiles
from ingest.connectors.types import Entry, FoundFile, SkippedFile
from ingest.connectors.walk_rules import (
    LEAST_PROSE_FILES,
    OUTPUT_DIRECTORIES,
    PROSE_EXTENSIONS,
    VERSION_CONTROL,
    SkipReason,
    WalkRules,
)
from search.corpus.paths import has_unseen_character

#: An archive or a git tree may have them all the same; a path with one leads elsewhere.
_NO_NAMES = frozenset({"", ".", ".."})

Node = TypeVar("Node")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """What a tree knows of a file without reading it."""

    size_bytes: int
    mtime_ns: int | None = None
    revision: str = ""


class Tree(Protocol[Node]):
    """Directories and what is in them; a node stands for one file or directory."""

    def children(self, directory: Node | None) -> Mapping[str, Node]:
        """Return what is in a directory (None: the root) by its name as written. Raises ListingFailed."""
        ...

    def is_directory(self, node: Node) -> bool:
        """Return whether it is a directory that may be entered, and no link to one."""
        ...

    def facts(self, node: Node) -> FileFacts | SkipReason:
        """Return what is known of a file, or why it is none that may be read. Raises ListingFailed."""
        ...

    def ignore_file(self, node: Node, at_most: int) -> bytes:
        """Return the beginning of an ignore file; b"" when it is no regular file. Raises ListingFailed."""
        ...


def walk_tree(tree: Tree[Node], rules: WalkRules) -> Iterator[Entry]:
    """Everything in the tree, sorted by name within each directory, depth first.

    Raises:
        ListingFailed: a directory or an ignore file cannot be read, or the ignore files are too large;
            raised where it is met, so that whoever has not seen the end of the listing deletes nothing.
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
        # a stack of our own: paths may be nested deeper than Python calls
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
        ignores = self._ignores(directory, nodes)
        seen: set[str] = set()
        for name, raw_name in sorted((nfc(raw_name), raw_name) for raw_name in nodes):
            node = nodes[raw_name]
            path = directory.prefix + name
            refusal = refused_name(name) or (SkipReason.DUPLICATE_PATH if name in seen else None)
            seen.add(name)
            is_directory = self._tree.is_directory(node)
            if refusal is not None:
                yield SkippedFile(path=printable(path, is_directory=is_directory), reason=refusal)
            elif is_directory:
                yield self._enter(path, node, ignores)
            else:
                yield self._file(path, node, ignores)

    def _ignores(
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
        return self._ignore_files.rules(printable(path, is_directory=False), content)

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
        is_skipped = name in self._rules.skipped_directories and not self._is_wanted(path, verdict)
        if name in VERSION_CONTROL or (is_skipped and not self._is_documentation(name, node)):
            return SkippedFile(path=path + "/", reason=SkipReason.SKIPPED_DIRECTORY)
        return _Directory(path + "/", node, tuple(ignores))

    def _is_wanted(self, path: str, verdict: bool | None) -> bool:
        """Return whether an ignore file or the project file names a folder that is skipped by default."""
        return verdict is False or self._chosen.names(path)

    def _is_documentation(self, name: str, node: Node) -> bool:
        """Return whether a folder named like a build's output holds only prose, as docs/build/ may."""
        if name not in OUTPUT_DIRECTORIES:
            return False
        nodes = self._tree.children(node)
        files = [each for each, inner in nodes.items() if not self._tree.is_directory(inner)]
        return len(files) >= LEAST_PROSE_FILES and all(
            file.rpartition(".")[2].lower() in PROSE_EXTENSIONS for file in files
        )

    def _file(self, path: str, node: Node, ignores: Sequence[tuple[int, IgnoreRules]]) -> Entry:
        verdict = _verdict(path, ignores, is_directory=False)
        if verdict:
            return SkippedFile(path=path, reason=SkipReason.IGNORED)
        if path.rpartition("/")[2] in self._rules.excluded_files:
            return SkippedFile(path=path, reason=SkipReason.EXCLUDED_FILE)
        if not self._chosen.holds(path):
            return SkippedFile(path=path, reason=SkipReason.OUTSIDE_FOLDERS)
        by_name = self._rules.skip_by_name(path) if verdict is None else None
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


def nfc(name: str) -> str:
    """Return a name in the form that paths have."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def refused_name(name: str) -> SkipReason | None:
    """Return why nothing may be called so, or None."""
    if "#" in name:
        return SkipReason.HASH_IN_PATH
    if name in _NO_NAMES:
        return SkipReason.UNSAFE_NAME
    if name.isprintable():
        return None
    if any("\ud800" <= character <= "\udfff" for character in name):
        return SkipReason.UNDECODABLE_NAME
    return SkipReason.CONTROL_CHARACTER_IN_NAME if has_unseen_character(name) else None


def printable(path: str, *, is_directory: bool) -> str:
    """Return a path as a report may show it, whatever its characters are."""
    readable = path.encode("utf-8", errors="backslashreplace").decode("utf-8")
    escaped = "".join(
        c if c.isprintable() or c == " " else c.encode("unicode_escape").decode() for c in readable
    )
    return escaped + "/" if is_directory else escaped


def _verdict(path: str, ignores: Sequence[tuple[int, IgnoreRules]], *, is_directory: bool) -> bool | None:
    """Return what the innermost ignore file that has a matching rule says."""
    for prefix_length, rules in reversed(ignores):
        verdict = rules.verdict(path[prefix_length:], is_directory=is_directory)
        if verdict is not None:
            return verdict
    return None
