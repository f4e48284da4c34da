"""Opening of archives; the first bytes decide the format, not the name."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from ingest.archives.limits import ArchiveLimits, Budget
from ingest.archives.parts import PartedArchive, is_parted
from ingest.archives.tar_archive import TarArchive
from ingest.archives.types import Archive
from ingest.archives.unpacked import DECOMPRESSORS, DecompressedStream
from ingest.archives.zip_archive import ZipArchive

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
        yield PartedArchive(archive, budget) if is_parted(archive) else archive
        return
    for magic, decompressor in DECOMPRESSORS.items():
        if start.startswith(magic):
            yield TarArchive(DecompressedStream(file, decompressor), budget)
            return
    yield TarArchive(file, budget)
