"""Opening of archives; the first bytes decide the format, not the name."""

import bz2
import lzma
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from tempfile import TemporaryFile
from typing import BinaryIO, Final, Protocol

from ingest.archives.tar_archive import TarArchive
from ingest.archives.types import (
    PIECE_BYTES,
    Archive,
    ArchiveBroken,
    ArchiveLimits,
    Budget,
    Member,
    MemberKind,
)
from ingest.archives.zip_archive import ZipArchive

# `xz -9` needs 65 MiB to decompress; a stream can ask for 4 GiB.
_XZ_LIMIT_BYTES: Final = 128 * 1024**2
_GZIP_FORMAT: Final = 31


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Gunzip:
    """zlib's decompressor with the interface of the others."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=_GZIP_FORMAT)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


#: decompressors by the first bytes of a stream
DECOMPRESSORS: Final[Mapping[bytes, Callable[[], _Decompressor]]] = {
    b"\x1f\x8b": _Gunzip,
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ\x00": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_LIMIT_BYTES),
}


class DecompressedStream:
    """A reader of a compressed file of one stream, or of several concatenated ones."""

    def __init__(self, packed: BinaryIO, new_decompressor: Callable[[], _Decompressor]) -> None:
        self._packed = packed
        self._new_decompressor = new_decompressor
        self._current = new_decompressor()
        # The first bytes of a further stream, read with the end of the one before.
        self._rest = b""
        self._ahead = memoryview(b"")

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes, b"" at the end. Raises ArchiveBroken, OSError."""
        if not self._ahead:
            self._ahead = memoryview(self._read_ahead())
        piece, self._ahead = self._ahead[:size], self._ahead[size:]
        return bytes(piece)

    def _read_ahead(self) -> bytes:
        while not self._current.eof or self._start_next_stream():
            needs_input = self._current.needs_input
            packed, self._rest = self._rest, b""
            if needs_input and not packed:
                packed = self._packed.read(PIECE_BYTES)
            piece = self._decompress(packed)
            if piece:
                return piece
            if needs_input and not packed and not self._current.eof:
                raise ArchiveBroken("The archive is cut off; pack or send it anew.")
        return b""

    def _start_next_stream(self) -> bool:
        rest = self._current.unused_data or self._packed.read(PIECE_BYTES)
        while rest and not rest.strip(b"\0"):  # padding
            rest = self._packed.read(PIECE_BYTES)
        if not rest:
            return False
        self._current, self._rest = self._new_decompressor(), rest
        return True

    def _decompress(self, packed: bytes) -> bytes:
        try:
            return self._current.decompress(packed, PIECE_BYTES)
        except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError, MemoryError) as error:
            raise ArchiveBroken(f"The archive is broken ({error}); pack it anew.") from error


_PART: Final = re.compile(r"(?:.*/)?Export(?:Block)?-[0-9a-f-]{36}-Part-\d+\.zip", re.IGNORECASE)


class PartedArchive:
    """The members of all parts, one part after the other, each unpacked to a temporary file."""

    def __init__(self, parts: ZipArchive, budget: Budget) -> None:
        self._parts = parts
        self._budget = budget
        self._open: tuple[ZipArchive, Member] | None = None

    def members(self) -> Iterator[Member]:
        """Return the members of the parts. Raises ArchiveRefused, OSError."""
        index = 0
        for part in self._parts.members():
            if part.kind is not MemberKind.FILE:
                continue
            with TemporaryFile() as file:
                self._parts.copy(part, file)
                archive = ZipArchive(file, self._budget)
                for member in archive.members():
                    self._open = archive, member
                    yield replace(member, index=index)
                    index += 1
        self._open = None

    def read(self, member: Member) -> bytes:
        """Return the content of the member that `members` yielded last. Raises ArchiveRefused, OSError."""
        if self._open is None:
            raise ValueError("no member is open")
        archive, inner = self._open
        return archive.read(inner)


_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")


@contextmanager
def open_archive(file: BinaryIO, limits: ArchiveLimits) -> Iterator[Archive]:
    """Open the archive in a seekable file, from its beginning; the file stays open.

    Raises ArchiveRefused for errors in its first bytes and, for a zip, in its directory; OSError.
    """
    budget = Budget(limits, file.seek(0, os.SEEK_END))
    file.seek(0)
    start = file.read(8)
    file.seek(0)
    if start.startswith(_ZIP_STARTS):
        archive = ZipArchive(file, budget)
        names = [member.name for member in archive.members() if member.kind is MemberKind.FILE]
        is_parted = bool(names) and all(map(_PART.fullmatch, names))
        yield PartedArchive(archive, budget) if is_parted else archive
        return
    for magic, decompressor in DECOMPRESSORS.items():
        if start.startswith(magic):
            yield TarArchive(DecompressedStream(file, decompressor), budget)
            return
    yield TarArchive(file, budget)
