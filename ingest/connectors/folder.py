"""Lists the files of a folder: which are to be read, which are left out and why."""

import os
import stat
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ingest.connectors.chosen_folders import ChosenFolders, ExcludedFolders
from ingest.connectors.errors import ListingFailed
from ingest.connectors.ignore import IgnoreRules
from ingest.connectors.types import Entry, FoundFile, SkippedFile
from ingest.connectors.walk_rules import (
    LEAST_PROSE_FILES,
    OUTPUT_DIRECTORIES,
    PROSE_EXTENSIONS,
    VERSION_CONTROL,
    SkipReason,
    WalkRules,
)

MAX_IGNORE_FILE_BYTES = 1024**2


def walk_folder(root: Path, rules: WalkRules | None = None) -> Iterator[Entry]:
    """Everything below `root`, sorted by name within each directory, depth first.

    Raises:
        ListingFailed: a directory or an ignore file cannot be read; raised where it is met, so that
            whoever has not seen the end of the listing deletes nothing.
    """
    return _Walk(root, rules or WalkRules()).entries()


@dataclass(frozen=True, slots=True)
class _Directory:
    """A directory to list: its path below the root ("" or ending in "/") and the rules above it."""

    prefix: str
    absolute: str
    #: (length of the ignore file's own prefix, its rules), outermost first
    ignores: tuple[tuple[int, IgnoreRules], ...]


class _Walk:
    def __init__(self, root: Path, rules: WalkRules) -> None:
        self._root = os.path.realpath(root)
        self._rules = rules
        self._chosen = ChosenFolders(rules.folders)
        self._excluded = ExcludedFolders(rules.excluded_folders)

    def entries(self) -> Iterator[Entry]:
        # a stack of our own: paths may be nested deeper than Python calls
        open_directories = [self._list(_Directory("", self._root, ()))]
        while open_directories:
            step = next(open_directories[-1], None)
            if step is None:
                open_directories.pop()
            elif isinstance(step, _Directory):
                open_directories.append(self._list(step))
            else:
                yield step

    def _list(self, directory: _Directory) -> Iterator[Entry | _Directory]:
        entries = _scan(directory.absolute)
        ignores = self._ignores(directory, entries)
        seen: set[str] = set()
        for name, raw_name in sorted((_nfc(raw_name), raw_name) for raw_name in entries):
            entry = entries[raw_name]
            path = directory.prefix + name
            refusal = _refused_name(name) or (SkipReason.DUPLICATE_PATH if name in seen else None)
            seen.add(name)
            if refusal is not None:
                yield SkippedFile(path=_printable(path, is_directory=_is_directory(entry)), reason=refusal)
            elif _is_directory(entry):
                yield self._enter(path, entry, ignores)
            else:
                yield self._file(path, entry, ignores)

    def _ignores(
        self, directory: _Directory, entries: dict[str, os.DirEntry[str]]
    ) -> tuple[tuple[int, IgnoreRules], ...]:
        own = [
            (len(directory.prefix), rules)
            for name in self._rules.ignore_files
            if name in entries and (rules := _read_ignore_file(entries[name]))
        ]
        return (*directory.ignores, *own)

    def _enter(
        self, path: str, entry: os.DirEntry[str], ignores: Sequence[tuple[int, IgnoreRules]]
    ) -> SkippedFile | _Directory:
        verdict = _verdict(path, ignores, is_directory=True)
        name = path.rpartition("/")[2]
        if verdict:
            return SkippedFile(path=path + "/", reason=SkipReason.IGNORED)
        if self._excluded.holds(path):
            return SkippedFile(path=path + "/", reason=SkipReason.EXCLUDED_FOLDER)
        if not self._chosen.holds(path) and not self._chosen.leads_to(path):
            return SkippedFile(path=path + "/", reason=SkipReason.OUTSIDE_FOLDERS)
        is_skipped = name in self._rules.skipped_directories and not self._is_wanted(path, verdict)
        if name in VERSION_CONTROL or (is_skipped and not _is_documentation(name, entry.path)):
            return SkippedFile(path=path + "/", reason=SkipReason.SKIPPED_DIRECTORY)
        return _Directory(path + "/", entry.path, tuple(ignores))

    def _is_wanted(self, path: str, verdict: bool | None) -> bool:
        """Whether an ignore file or the project file names a folder that is skipped by default."""
        return verdict is False or self._chosen.names(path)

    def _file(self, path: str, entry: os.DirEntry[str], ignores: Sequence[tuple[int, IgnoreRules]]) -> Entry:
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
        status = self._status(entry)
        if isinstance(status, SkipReason):
            return SkippedFile(path=path, reason=status)
        if self._rules.is_too_large(path, status.st_size):
            return SkippedFile(path=path, reason=SkipReason.TOO_LARGE)
        return FoundFile(path=path, size_bytes=status.st_size, mtime_ns=status.st_mtime_ns)

    def _status(self, entry: os.DirEntry[str]) -> os.stat_result | SkipReason:
        """Size and time of a regular file, or why it is not one that may be read."""
        try:
            if entry.is_symlink() and not self._is_inside(os.path.realpath(entry.path, strict=True)):
                return SkipReason.LINK_OUTSIDE
            status = entry.stat()
        except FileNotFoundError:
            return SkipReason.BROKEN_LINK if entry.is_symlink() else SkipReason.VANISHED
        except OSError as error:
            if entry.is_symlink():  # a loop, or a way through directories that are closed to us
                return SkipReason.BROKEN_LINK
            raise _failure(entry.path, error) from error
        if stat.S_ISDIR(status.st_mode):
            return SkipReason.DIRECTORY_LINK
        return status if stat.S_ISREG(status.st_mode) else SkipReason.SPECIAL_FILE

    def _is_inside(self, real_path: str) -> bool:
        return os.path.commonpath([self._root, real_path]) == self._root


def _scan(directory: str) -> dict[str, os.DirEntry[str]]:
    try:
        with os.scandir(directory) as listing:
            return {entry.name: entry for entry in listing}
    except OSError as error:
        raise _failure(directory, error) from error


def _is_documentation(name: str, absolute: str) -> bool:
    """Whether a folder named like a build's output holds only prose, as docs/build/ may."""
    if name not in OUTPUT_DIRECTORIES:
        return False
    files = [entry.name for entry in _scan(absolute).values() if not _is_directory(entry)]
    return len(files) >= LEAST_PROSE_FILES and all(
        file.rpartition(".")[2].lower() in PROSE_EXTENSIONS for file in files
    )


def _failure(path: str, error: OSError) -> ListingFailed:
    shown = _printable(path, is_directory=False)
    return ListingFailed(f"{shown} cannot be listed: {error.strerror or error}. Check that it may be read.")


def _read_ignore_file(entry: os.DirEntry[str]) -> IgnoreRules | None:
    try:
        if not entry.is_file(follow_symlinks=False):
            return None
        with Path(entry.path).open("rb") as file:
            return IgnoreRules(file.read(MAX_IGNORE_FILE_BYTES).decode("utf-8", errors="replace"))
    except OSError as error:
        raise _failure(entry.path, error) from error


def _verdict(path: str, ignores: Sequence[tuple[int, IgnoreRules]], *, is_directory: bool) -> bool | None:
    """What the innermost ignore file that has a matching rule says."""
    for prefix_length, rules in reversed(ignores):
        verdict = rules.verdict(path[prefix_length:], is_directory=is_directory)
        if verdict is not None:
            return verdict
    return None


def _is_directory(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def _nfc(name: str) -> str:
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def _refused_name(name: str) -> SkipReason | None:
    if "#" in name:
        return SkipReason.HASH_IN_PATH
    if name.isprintable():
        return None
    if any("\ud800" <= character <= "\udfff" for character in name):
        return SkipReason.UNDECODABLE_NAME
    is_control = any(unicodedata.category(character) == "Cc" for character in name)
    return SkipReason.CONTROL_CHARACTER_IN_NAME if is_control else None


def _printable(path: str, *, is_directory: bool) -> str:
    readable = path.encode("utf-8", errors="backslashreplace").decode("utf-8")
    escaped = "".join(
        c if c.isprintable() or c == " " else c.encode("unicode_escape").decode() for c in readable
    )
    return escaped + "/" if is_directory else escaped
