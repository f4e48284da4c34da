"""Tar archives, plain or compressed, read by the standard library through a reader that bounds headers.

The library keeps whole header extensions in memory, follows sizes that point backwards and parses digits in
quadratic time; the reader below only reads forward and refuses all three.
"""

import re
import tarfile
from collections.abc import Iterator
from typing import Final

from ingest.archives.types import (
    PIECE_BYTES,
    ArchiveBroken,
    ArchiveRefused,
    Budget,
    Member,
    MemberKind,
    Stream,
    read_whole,
)
from ingest.connectors.walk_rules import SkipReason
from search.corpus.paths import MAX_PATH_BYTES

#: Most bytes of one member's headers: names, times, extended attributes.
MAX_HEADER_BYTES: Final = 256 * 1024
_LONG_NUMBER: Final = re.compile(rb"[0-9]{100}")
#: errors that the standard library raises for invalid tar data
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
    """A tar archive, open for sequential reading."""

    def __init__(self, stream: Stream, budget: Budget) -> None:
        self._budget = budget
        self._reader = _ForwardReader(stream, budget)
        self._current: tarfile.TarInfo | None = None
        self._reader.begin_header()
        try:
            self._tar = tarfile.TarFile(fileobj=self._reader, mode="r")  # type: ignore[arg-type]  # it reads forward
        except _DAMAGE as error:
            raise ArchiveBroken(
                "The file is neither a zip nor a tar that can be read; pack it anew."
            ) from error

    def members(self) -> Iterator[Member]:
        """Return the members in their order. Raises ArchiveRefused, OSError."""
        index = 0
        while (info := self._next_header()) is not None:
            self._budget.count_member()
            yield Member(
                index=index,
                # One byte above the limit is enough to refuse a longer name.
                name=info.name[: MAX_PATH_BYTES + 1],
                kind=_member_kind(info),
                size_bytes=info.size,
                refusal=SkipReason.SPARSE_FILE if info.issparse() else None,
            )
            index += 1

    def read(self, member: Member) -> bytes:
        """Return the content of the member that was yielded last. Raises ArchiveRefused, OSError."""
        if self._current is None:
            raise ValueError(f"Member {member.index} is not the one that was given last.")
        self._reader.begin_content()
        try:
            opened = self._tar.extractfile(self._current)
            return b"" if opened is None else read_whole(opened)
        except _DAMAGE as error:
            raise ArchiveBroken(f"The archive is broken ({error}); pack it anew.") from error

    def _next_header(self) -> tarfile.TarInfo | None:
        self._reader.begin_header()
        try:
            self._current = self._tar.next()
        except _DAMAGE as error:
            raise ArchiveBroken(f"The archive is broken ({error}); pack it anew.") from error
        # The library would keep all members, and apply global headers to all that follow.
        self._tar.members.clear()  # type: ignore[attr-defined]  # the stubs lack it
        self._tar.pax_headers = {}
        if self._current is None and not self._reader.has_end_mark:
            raise ArchiveBroken("The archive is damaged or cut off; pack or send it anew.")
        return self._current


class _ForwardReader:
    """The unpacked bytes as a file that is read once, forward only."""

    def __init__(self, stream: Stream, budget: Budget) -> None:
        self._stream = stream
        self._budget = budget
        self._position = 0
        self._header_bytes_left: int | None = None
        self._last_block = b""

    @property
    def has_end_mark(self) -> bool:
        """Return whether the last bytes read are the end mark, or nothing: some tools write none."""
        return not self._last_block.strip(b"\0")

    def begin_header(self) -> None:
        """Start reading headers: bytes count against MAX_HEADER_BYTES from here on."""
        self._header_bytes_left = MAX_HEADER_BYTES

    def begin_content(self) -> None:
        """Start reading a member's content, whose bytes are no headers."""
        self._header_bytes_left = None

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = 0) -> int:
        """Read on to `offset`. Raises ArchiveRefused if it lies behind the position, or too far ahead."""
        if offset < self._position or whence:
            raise ArchiveBroken("The archive's sizes contradict each other; pack it anew.")
        if offset - self._position > self._budget.limits.max_unpacked_bytes:
            self._budget.count_bytes(offset - self._position)
        while self._position < offset:
            if not self._read_piece(min(PIECE_BYTES, offset - self._position)):
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
        while missing > 0 and (piece := self._read_piece(missing)):
            pieces.append(piece)
            missing -= len(piece)
        content = self._last_block = b"".join(pieces)
        if self._header_bytes_left is not None and _LONG_NUMBER.search(content):
            raise ArchiveBroken("The archive's headers hold numbers of a hundred digits; pack it anew.")
        return content

    def _read_piece(self, size: int) -> bytes:
        piece = self._stream.read(size)
        self._position += len(piece)
        self._budget.count_bytes(len(piece))
        return piece


def _member_kind(info: tarfile.TarInfo) -> MemberKind:
    if info.isreg():
        return MemberKind.FILE
    if info.isdir():
        return MemberKind.DIRECTORY
    return MemberKind.LINK if info.issym() or info.islnk() else MemberKind.SPECIAL
