"""Tar archives, plain or compressed, by the standard library on a reader that bounds what headers may take.

The library keeps whole header extensions in memory, follows sizes that point backwards and looks for digits
in quadratic time; the reader below goes forward only and refuses all three.
"""

import re
import tarfile
from collections.abc import Iterator
from typing import Final

from ingest.archives.errors import ArchiveBroken, ArchiveRefused
from ingest.archives.limits import Budget
from ingest.archives.types import PIECE_BYTES, Member, MemberKind, Stream, read_whole
from ingest.connectors.walk_rules import SkipReason
from search.corpus.paths import MAX_PATH_BYTES

#: Headers of one member: names, times, extended attributes.
MAX_HEADER_BYTES: Final = 256 * 1024
_LONG_NUMBER: Final = re.compile(rb"[0-9]{100}")
#: what the standard library raises on bytes that are no tar
_DAMAGE: Final = (
    tarfile.TarError,
    ValueError,  # UnicodeDecodeError among them
    IndexError,
    KeyError,
    TypeError,
    OverflowError,
    RecursionError,
    EOFError,
)


class TarArchive:
    """A tar, open for reading from front to back."""

    def __init__(self, stream: Stream, budget: Budget) -> None:
        self._budget = budget
        self._reader = _Forward(stream, budget)
        self._current: tarfile.TarInfo | None = None
        self._reader.begin_header()
        try:
            self._tar = tarfile.TarFile(fileobj=self._reader, mode="r")  # type: ignore[arg-type]
        except _DAMAGE as error:
            raise ArchiveBroken(
                "The file is neither a zip nor a tar that can be read; pack it anew."
            ) from error

    def members(self) -> Iterator[Member]:
        """Return the members in their order. Raises ArchiveRefused, OSError."""
        index = 0
        while (info := self._next()) is not None:
            self._budget.count_member()
            yield Member(
                index=index,
                # Longer ones are refused whatever they are.
                name=info.name[: MAX_PATH_BYTES + 1],
                kind=_kind(info),
                size_bytes=info.size,
                refusal=SkipReason.SPARSE_FILE if info.issparse() else None,
            )
            index += 1

    def read(self, member: Member) -> bytes:
        """Return the content of the member that was given last. Raises ArchiveRefused, OSError."""
        if self._current is None:
            raise ValueError(f"Member {member.index} is not the one that was given last.")
        self._reader.begin_content()
        try:
            opened = self._tar.extractfile(self._current)
            return b"" if opened is None else read_whole(opened)
        except _DAMAGE as error:
            raise ArchiveBroken(f"The archive is broken ({error}); pack it anew.") from error

    def _next(self) -> tarfile.TarInfo | None:
        self._reader.begin_header()
        try:
            self._current = self._tar.next()
        except _DAMAGE as error:
            raise ArchiveBroken(f"The archive is broken ({error}); pack it anew.") from error
        # The library would keep them all, and global headers for all that follows.
        self._tar.members.clear()
        self._tar.pax_headers = {}
        if self._current is None and not self._reader.ended_as_a_tar_does:
            raise ArchiveBroken("The archive is damaged or cut off; pack or send it anew.")
        return self._current


class _Forward:
    """The unpacked bytes as a file that is read once, from front to back."""

    def __init__(self, stream: Stream, budget: Budget) -> None:
        self._stream = stream
        self._budget = budget
        self._position = 0
        self._header_bytes_left: int | None = None
        self._last_block = b""

    @property
    def ended_as_a_tar_does(self) -> bool:
        """Return whether what was read last is the end mark, or nothing: some tools write none."""
        return not self._last_block.strip(b"\0")

    def begin_header(self) -> None:
        """From here on headers are read."""
        self._header_bytes_left = MAX_HEADER_BYTES

    def begin_content(self) -> None:
        """From here on a member's content is read."""
        self._header_bytes_left = None

    def tell(self) -> int:
        """Return how far it has been read."""
        return self._position

    def seek(self, offset: int, whence: int = 0) -> int:
        """Read on to `offset`. Raises ArchiveRefused for what lies behind, or too far ahead."""
        if offset < self._position or whence:
            raise ArchiveBroken("The archive's sizes contradict each other; pack it anew.")
        if offset - self._position > self._budget.limits.max_unpacked_bytes:
            self._budget.count_bytes(offset - self._position)
        while self._position < offset:
            if not self._take(min(PIECE_BYTES, offset - self._position)):
                break
        return self._position

    def read(self, size: int) -> bytes:
        """Return `size` bytes, fewer at the end. Raises ArchiveRefused."""
        if self._header_bytes_left is not None:
            self._header_bytes_left -= size
            if size < 0 or self._header_bytes_left < 0:
                raise ArchiveRefused(
                    f"A member's headers have more than {MAX_HEADER_BYTES:,} bytes; pack the archive without"
                    " extended attributes."
                )
        pieces = []
        missing = size
        while missing > 0 and (piece := self._take(missing)):
            pieces.append(piece)
            missing -= len(piece)
        content = self._last_block = b"".join(pieces)
        if self._header_bytes_left is not None and _LONG_NUMBER.search(content):
            raise ArchiveBroken("The archive's headers hold numbers of a hundred digits; pack it anew.")
        return content

    def _take(self, size: int) -> bytes:
        piece = self._stream.read(size)
        self._position += len(piece)
        self._budget.count_bytes(len(piece))
        return piece


def _kind(info: tarfile.TarInfo) -> MemberKind:
    if info.isreg():
        return MemberKind.FILE
    if info.isdir():
        return MemberKind.DIRECTORY
    return MemberKind.LINK if info.issym() or info.islnk() else MemberKind.SPECIAL
