"""Zip archives, read by the standard library, with limits for its reading of the directory.

All data about members come from the directory at the archive's end. Members that share bytes are refused
(David Fifield, "A better zip bomb", 2019), whatever sizes they announce.
"""

import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from io import RawIOBase
from shutil import copyfileobj
from typing import BinaryIO, Final

from ingest.archives.types import (
    PIECE_BYTES,
    ArchiveBroken,
    ArchiveEncrypted,
    ArchiveOverLimit,
    ArchiveRefused,
    Budget,
    Member,
    MemberBroken,
    MemberKind,
    read_whole,
)
from ingest.connectors.walk_rules import SkipReason
from search.documents.charset_guess import FILE_NAME_CHARSETS, guess_charset

#: 50,000 members with names of 100 characters take 8 MB.
MAX_DIRECTORY_BYTES: Final = 32_000_000
#: Supported methods; others are rare, and can't be decompressed within bounded memory.
_COMPRESSIONS: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_RECORD: Final = b"PK\x01\x02"
_LOCAL_HEADER_BYTES: Final = 30
_UNIX: Final = 3
_ENCRYPTED: Final = 0x1
_UTF8: Final = 0x800
#: a field of extra data: its kind and size, then the version and the checksum of a path in Unicode
_EXTRA: Final = struct.Struct("<HHBL")
_UNICODE_PATH: Final = 0x7075
#: errors that the standard library raises for invalid zip data
_DAMAGE: Final = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    ValueError,  # UnicodeDecodeError among them
    NotImplementedError,
    OverflowError,
    RuntimeError,
)


class ZipArchive:
    """A zip archive, open for sequential reading."""

    def __init__(self, file: BinaryIO, budget: Budget) -> None:
        self._budget = budget
        try:
            self._zip = zipfile.ZipFile(_GuardedFile(file, budget))
        except _DAMAGE as error:
            raise _broken_error(error) from error
        except OSError as error:
            # The archive causes an invalid seek, the disk any other error.
            raise (_broken_error(error) if error.errno in (None, 22) else error) from error
        self._names = _read_names(self._zip.infolist())
        self._check_directory()

    def members(self) -> Iterator[Member]:
        """Return the members in the order of the directory."""
        for index, info in enumerate(self._zip.infolist()):
            self._budget.limits.while_reading()
            yield Member(
                index=index,
                name=self._names[index],
                kind=_member_kind(info),
                size_bytes=info.file_size,
                refusal=None if info.compress_type in _COMPRESSIONS else SkipReason.UNKNOWN_COMPRESSION,
            )

    def read(self, member: Member) -> bytes:
        """Return a member's content, never more than it announces. Raises MemberBroken, OSError."""
        try:
            with self._zip.open(self._zip.infolist()[member.index]) as opened:
                return read_whole(opened)
        except _DAMAGE as error:
            raise MemberBroken(f"{member.name[:80]!r} in the archive is broken ({error}).") from error

    def copy(self, member: Member, file: BinaryIO) -> None:
        """Write a member's content to a file. Raises MemberBroken, OSError."""
        try:
            with self._zip.open(self._zip.infolist()[member.index]) as opened:
                copyfileobj(opened, file)
        except _DAMAGE as error:
            raise MemberBroken(f"{member.name[:80]!r} in the archive is broken ({error}).") from error

    def _check_directory(self) -> None:
        """Check the directory against the limits. Raises ArchiveRefused."""
        infos = self._zip.infolist()
        for info, name in zip(infos, self._names, strict=True):
            self._budget.count_member()
            self._budget.count_bytes(info.file_size)
            if info.flag_bits & _ENCRYPTED:
                raise ArchiveEncrypted(
                    f"The archive is encrypted, as {name[:80]!r} in it is; pack it without a password."
                )
        end = 0
        named = zip(infos, self._names, strict=True)
        for info, name in sorted(named, key=lambda each: each[0].header_offset):
            if info.header_offset < end:
                raise ArchiveRefused(
                    f"Members of the archive overlap, as {name[:80]!r} does; such archives are bombs."
                )
            end = info.header_offset + _LOCAL_HEADER_BYTES + info.compress_size


class _GuardedFile(RawIOBase):
    """The archive's file, from which no more is read at once than the limit of a directory."""

    def __init__(self, file: BinaryIO, budget: Budget) -> None:
        self._file = file
        self._budget = budget

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes. Raises ArchiveOverLimit for a directory with too many records."""
        if size > MAX_DIRECTORY_BYTES:
            raise ArchiveOverLimit(
                f"The archive's directory has {size:,} bytes, the limit is {MAX_DIRECTORY_BYTES:,}; split it."
            )
        content = self._file.read(MAX_DIRECTORY_BYTES if size < 0 else size)
        if len(content) > PIECE_BYTES:
            self._budget.check_members(content.count(_RECORD))
        return content


def _read_names(infos: Sequence[zipfile.ZipInfo]) -> list[str]:
    """Return the members' names: those that state no charset are all in one, in UTF-8 if they may be."""
    stated = [_stated_name(info) for info in infos]
    raw = [_raw_name(info) for info, name in zip(infos, stated, strict=True) if name is None]
    joined = b"\n".join(raw)
    is_utf8 = joined.decode(errors="ignore").encode() == joined
    charset = "utf-8" if is_utf8 else guess_charset(joined, FILE_NAME_CHARSETS).charset
    decoded = (name.decode(charset, "surrogateescape") for name in raw)
    return [next(decoded) if name is None else name for name in stated]


def _stated_name(info: zipfile.ZipInfo) -> str | None:
    """Return a name of known charset: by the UTF-8 flag, or by the extra field of Info-ZIP, else None."""
    name = info.orig_filename
    if info.flag_bits & _UTF8 or name.isascii():
        return name
    start = 0
    while start + _EXTRA.size <= len(info.extra):
        kind, size, version, checksum = _EXTRA.unpack_from(info.extra, start)
        if (kind, version, checksum) == (_UNICODE_PATH, 1, zlib.crc32(_raw_name(info))):
            return info.extra[start + _EXTRA.size : start + 4 + size].decode("utf-8", "surrogateescape")
        start += 4 + size
    return None


def _raw_name(info: zipfile.ZipInfo) -> bytes:
    return info.orig_filename.encode("cp437")  # the library's charset of names without the flag


def _member_kind(info: zipfile.ZipInfo) -> MemberKind:
    mode = info.external_attr >> 16 if info.create_system == _UNIX else 0
    match stat.S_IFMT(mode):
        case stat.S_IFLNK:
            return MemberKind.LINK
        case stat.S_IFDIR:
            return MemberKind.DIRECTORY
        case 0 | stat.S_IFREG:
            return MemberKind.DIRECTORY if info.is_dir() else MemberKind.FILE
        case _:
            return MemberKind.SPECIAL


def _broken_error(error: Exception) -> ArchiveBroken:
    return ArchiveBroken(f"The archive is broken ({error or type(error).__name__}); pack it anew.")
