"""Direct access to mirror files: rows, bytes, checksums."""

import os
from collections.abc import Iterator
from concurrent.futures import wait
from contextlib import contextmanager
from pathlib import Path

import apsw

from search.mirror.connections import open_reader, open_writer
from search.mirror.files import MirrorFiles
from search.mirror.sync.checksum import Checksum, mirror_checksum
from search.mirror.sync.follow import MirrorFollower


@contextmanager
def reading(files: MirrorFiles) -> Iterator[apsw.Connection]:
    """Open the current generation for reading."""
    connection = open_reader(files.current())
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def tampering(files: MirrorFiles) -> Iterator[apsw.Connection]:
    """Open the current generation for writing, bypassing the code that writes mirrors."""
    connection = open_writer(files.current())
    try:
        yield connection
    finally:
        connection.close()


def texts(files: MirrorFiles) -> dict[str, list[str]]:
    """Return the texts of each document in the mirror, by path, sorted."""
    with reading(files) as connection:
        rows = connection.execute(
            "SELECT d.path, f.text FROM documents d LEFT JOIN chunks c ON c.doc = d.doc"
            " LEFT JOIN chunks_fts f ON f.rowid = c.chunk ORDER BY d.path, f.text"
        ).fetchall()
    found: dict[str, list[str]] = {}
    for path, text in rows:
        found.setdefault(path, []).extend([] if text is None else [text])
    return found


def checksum(files: MirrorFiles) -> Checksum:
    """Return the mirror's checksum."""
    with reading(files) as connection:
        return mirror_checksum(connection)


def raw_bytes(files: MirrorFiles) -> bytes:
    """Return the bytes of all files of the mirror, in order of their names, while nothing has them open."""
    return b"".join(path.read_bytes() for path in sorted(files.directory.iterdir()))


def generations(files: MirrorFiles) -> set[str]:
    """Return the names of the generations that lie there."""
    return {path.name for path in files.directory.glob("*.sqlite3")}


def age(path: Path, *, hours: float) -> None:
    """Set the modification time of a file back by hours."""
    at = path.stat().st_mtime - hours * 3600
    os.utime(path, (at, at))


def catch_up_completely(follower: MirrorFollower) -> None:
    """Let a follower catch up, including its background work."""
    follower.catch_up()
    while not follower._long_syncs.is_idle:
        wait(list(follower._long_syncs._tasks.values()), timeout=30)
        follower.catch_up()
