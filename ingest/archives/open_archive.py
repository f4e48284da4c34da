"""From a file to the archive in it; its first bytes say which kind it is, whatever it is called."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from ingest.archives.limits import ArchiveLimits, Budget
from ingest.archives.tar_archive import TarArchive
from ingest.archives.types import Archive
from ingest.archives.unpacked import DECOMPRESSORS, Unpacked
from ingest.archives.zip_archive import ZipArchive

_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")


@contextmanager
def open_archive(file: BinaryIO, limits: ArchiveLimits) -> Iterator[Archive]:
    """Open the archive that a seekable file holds, from its beginning; the file stays open.

    Raises ArchiveRefused for what its first bytes and, for a zip, its directory give away; OSError.
    """
    budget = Budget(limits, file.seek(0, os.SEEK_END))
    file.seek(0)
    start = file.read(8)
    file.seek(0)
    if start.startswith(_ZIP_STARTS):
        yield ZipArchive(file, budget)
        return
    for magic, decompressor in DECOMPRESSORS.items():
        if start.startswith(magic):
            yield TarArchive(Unpacked(file, decompressor), budget)
            return
    yield TarArchive(file, budget)
