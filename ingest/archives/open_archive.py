"""Opening of archives; the first bytes decide the format, not the name."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from tempfile import TemporaryFile
from typing import BinaryIO, Final

from ingest.archives.tar_archive import TarArchive
from ingest.archives.types import Archive, ArchiveLimits, Budget, Member, MemberKind
from ingest.archives.unpacked import DECOMPRESSORS, DecompressedStream
from ingest.archives.zip_archive import ZipArchive

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
