"""Selection of the members of an archive to ingest, by the rules for files of a folder, within limits.

An archive is read twice: once for names and ignore files, which may come last, and once for the selected
members.
"""

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from ingest.archives.types import Archive, ArchiveLimits, ArchiveOverLimit, Budget, Member, MemberKind
from ingest.connectors.errors import ListingFailed
from ingest.connectors.ignore import MAX_IGNORE_FILE_BYTES
from ingest.connectors.tree import FileFacts, printable_path, readable_name, walk_tree
from ingest.connectors.types import FoundFile, SkippedFile
from ingest.connectors.walk_rules import SKIPPED_DIRECTORIES, SkipReason, WalkRules
from search.corpus.paths import MAX_PATH_BYTES

#: Skipped directories: those of folders, and the one that macOS adds to every archive.
SKIPPED: Final = SKIPPED_DIRECTORIES | {"__MACOSX"}
#: Most bytes of all ignore files of an archive together.
MAX_IGNORE_BYTES: Final = 8 * 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedMember:
    """A member to ingest, with its index in the archive."""

    index: int
    #: POSIX, NFC, relative to the archive's root
    path: str


@dataclass(slots=True, kw_only=True)
class _Node:
    """A file of the archive, or a folder, which need not be a member."""

    member: Member | None = None
    ignore_file: bytes = b""
    children: dict[str, "_Node"] = field(default_factory=dict)


def list_members(archive: Archive, limits: ArchiveLimits) -> Iterator[SelectedMember | SkippedFile]:
    """Yield the members to ingest, and those skipped with the reason. Raises ArchiveRefused, OSError."""
    rules = WalkRules.from_settings(skipped_directories=SKIPPED)
    tree = _ArchiveTree(limits, rules.ignore_files)
    for member in archive.members():
        yield from tree.add(member, archive)
    try:
        for entry in walk_tree(tree, rules):
            if isinstance(entry, FoundFile):
                yield SelectedMember(index=int(entry.revision), path=entry.path)
            else:
                yield entry
    except ListingFailed as error:  # its ignore files are too large; no other error can occur in memory
        raise ArchiveOverLimit(str(error)) from error


class _ArchiveTree:
    """A tree of the members by folder."""

    def __init__(self, limits: ArchiveLimits, ignore_files: Container[str]) -> None:
        self._root = _Node()
        self._budget = Budget(limits, 0)
        self._ignore_files = ignore_files
        self._ignore_bytes = 0

    def add(self, member: Member, archive: Archive) -> Iterator[SkippedFile]:
        """Add a member; yield it if it is skipped for its name or as a duplicate of another path."""
        parts = member_parts(member.name)
        is_directory = member.kind is MemberKind.DIRECTORY
        if isinstance(parts, SkipReason):
            yield SkippedFile(path=printable_path(member.name, is_directory=is_directory), reason=parts)
            return
        path = "/".join(parts)
        folder = self._ensure_folder(parts if is_directory else parts[:-1])
        if folder is None:
            yield SkippedFile(path=printable_path(path, is_directory=False), reason=SkipReason.DUPLICATE_PATH)
        elif parts and not is_directory:
            # Of two members with the same path the later is newer, as `tar --append` writes them.
            if parts[-1] in folder.children:
                yield SkippedFile(
                    path=printable_path(path, is_directory=False), reason=SkipReason.DUPLICATE_PATH
                )
            if parts[-1] not in folder.children or folder.children[parts[-1]].member is not None:
                content = self._ignore_content(parts[-1], member, archive)
                folder.children[parts[-1]] = _Node(member=member, ignore_file=content)

    def children(self, directory: _Node | None) -> Mapping[str, _Node]:
        """Return the entries of a folder by name; None is the root."""
        return (self._root if directory is None else directory).children

    def is_directory(self, node: _Node) -> bool:
        """Return whether the node is a folder."""
        return node.member is None

    def facts(self, node: _Node) -> FileFacts | SkipReason:
        """Return the size and index of a file, or the reason why it is skipped."""
        member = node.member
        if member is None or member.kind is MemberKind.SPECIAL:
            return SkipReason.SPECIAL_FILE
        if member.kind is MemberKind.LINK:
            return SkipReason.LINK
        if is_packed(member.name):
            return SkipReason.NESTED_ARCHIVE
        return member.refusal or FileFacts(size_bytes=member.size_bytes, revision=str(member.index))

    def ignore_file(self, node: _Node, at_most: int) -> bytes:
        """Return up to `at_most` bytes of an ignore file."""
        return node.ignore_file[:at_most]

    def _ensure_folder(self, parts: tuple[str, ...]) -> _Node | None:
        """Return the folder, created if it doesn't exist; None if a file has the path of one of `parts`."""
        folder = self._root
        for part in parts:
            if part not in folder.children:
                self._budget.count_folder()
                folder.children[part] = _Node()
            folder = folder.children[part]
            if folder.member is not None:
                return None
        return folder

    def _ignore_content(self, name: str, member: Member, archive: Archive) -> bytes:
        is_text = member.kind is MemberKind.FILE and member.refusal is None
        if readable_name(name) not in self._ignore_files or not is_text:
            return b""
        if member.size_bytes > MAX_IGNORE_FILE_BYTES:
            raise ArchiveOverLimit(
                f"{printable_path(member.name, is_directory=False)[:200]} has more than"
                f" {MAX_IGNORE_FILE_BYTES:,} bytes; shorten it."
            )
        self._ignore_bytes += member.size_bytes
        if self._ignore_bytes > MAX_IGNORE_BYTES:
            raise ArchiveOverLimit(
                f"The archive's ignore files have more than {MAX_IGNORE_BYTES:,} bytes; split it."
            )
        return archive.read(member)


#: suffixes of supported formats, the longest first
UNPACKED: Final = (".tar.bz2", ".tar.gz", ".tar.xz", ".tbz2", ".tbz", ".tgz", ".txz", ".tar", ".zip")
#: suffixes of archives that are not supported
NOT_UNPACKED: Final = (".tar.zst", ".tar.lz", ".tar.lzma", ".tar.z", ".tzst", ".7z", ".rar")
#: other suffixes of packed files, which are skipped inside an archive
_PACKED: Final = (".bz2", ".ear", ".gz", ".jar", ".lz4", ".lzma", ".war", ".whl", ".xz", ".z", ".zst")
_DRIVE: Final = re.compile(r"[A-Za-z]:")


def is_archive(name: str) -> bool:
    """Return whether a file of this name is an archive, of a supported format or not."""
    return name.lower().endswith((*UNPACKED, *NOT_UNPACKED))


def is_supported_archive(name: str) -> bool:
    """Return whether the name is that of a supported archive format."""
    return name.lower().endswith(UNPACKED)


def is_packed(name: str) -> bool:
    """Return whether a member of this name is itself packed."""
    return name.lower().endswith((*UNPACKED, *NOT_UNPACKED, *_PACKED))


def strip_archive_suffix(name: str) -> str:
    """Return an archive's name or path without its suffix: `docs.tar.gz` gives `docs`."""
    suffix = next((each for each in UNPACKED if name.lower().endswith(each)), "")
    stem = name[: len(name) - len(suffix)]
    return name if stem in ("", ".") or stem.endswith("/") else stem


def member_parts(name: str) -> tuple[str, ...] | SkipReason:
    """Return the parts of a member's path, () for the archive's root, or the reason why it is refused."""
    if len(name.encode("utf-8", errors="surrogatepass")) > MAX_PATH_BYTES:
        return SkipReason.PATH_TOO_LONG
    if "\\" in name:
        return SkipReason.BACKSLASH_IN_PATH
    if name.startswith("/") or _DRIVE.match(name):
        return SkipReason.ABSOLUTE_PATH
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    return SkipReason.PATH_OUTSIDE if ".." in parts else parts
